package measured

// Priced is what was measured by itself and not of the requests of a server: it is priced by the functions that price
// the steps of a simulation. One of its parts is set.
type Priced struct {
	Step   *Step   // of the first pool of the run's scenario
	Kernel *Kernel // on a GPU, with no model around it
}

// Step is what one step of a replica computes. Sequences are alike.
type Step struct {
	Decodes       int  // sequences that decode
	DecodeContext int  // tokens that each attends to, the new one included
	Prefills      int  // prompt chunks
	ChunkTokens   int  // of each
	ChunkContext  int  // tokens of its prompt that each chunk comes after
	Drafts        int  // that each decode verifies
	OneRank       bool // of several data-parallel ranks one has all chunks, and not each its share
	Unfinished    bool // no chunk ends its prompt, so that none yields a token
	Separate      bool // all steps of the server are of this kind: the other phase of its requests runs elsewhere
}

// Op is what a kernel computes or moves.
type Op string

// The operations.
const (
	AllReduce Op = "all-reduce"
	Dispatch  Op = "dispatch" // of tokens to the experts of a layer
	Combine   Op = "combine"  // of what the experts yield
	Product   Op = "product"  // of matrices
	Experts   Op = "experts"  // the products of a layer's routed experts
	Memory    Op = "memory"   // reading or writing GPU memory
	Latent    Op = "latent"   // the projections and the latent attention of a layer, of DeepSeek-V3's shape
)

// Kernel is one operation alone.
type Kernel struct {
	Op     Op
	GPU    string // catalog name
	Engine string // of Labels, whose efficiencies count; empty or unknown: what all engines have in common
	GPUs   int
	Dtype  string // of weights; empty: bf16

	LaunchS    float64 // what it takes beside what tables of it say
	NetworkBps float64 // of a GPU, one way, where it is not the data sheet's; 0: it is
	NCCL       bool    // an all-reduce of NCCL, and of no kernel of an engine
	Part       float64 // of an all-reduce that the operation is; 0: all of it
	Way        string  // of a dispatch or a combine, one of hardware.AllToAlls; empty: the quickest
	SMs        int     // that a normal dispatch or combine runs on; 0: the default
	Balanced   bool    // of these: every token has experts on as many GPUs as it can

	Bytes   float64 // of a message, of an all-reduce; of what memory moves
	Rows    int     // m of a product, or tokens of a GPU
	Width   int     // n of a product, or of an expert
	Hidden  int     // k of a product, or of a token's activations
	TopK    int
	Experts int
	// The experts are in Groups, and those of a token in TopGroups of them; 0: in one.
	Groups, TopGroups int

	// Of latent attention: heads, tokens that each of Rows sequences attends to, and of a prefill those of its chunk.
	Heads, Context, Chunk int
	KVDtype               string // of the cache; empty: bf16
	AttentionOnly         bool   // without the projections around it
}
