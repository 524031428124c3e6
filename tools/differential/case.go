package main

// Case is a load on one engine: what both sides are given. The names are those of vLLM's arguments.
type Case struct {
	Kind                string     `json:"kind"`
	Version             string     `json:"version"` // whose rules; empty: the newest known
	MaxNumSeqs          int        `json:"max_num_seqs"`
	MaxNumBatchedTokens int32      `json:"max_num_batched_tokens"`
	MaxModelLen         int32      `json:"max_model_len"`
	NumGPUBlocks        int64      `json:"num_gpu_blocks"` // the null block among them
	BlockSize           int32      `json:"block_size"`
	PrefixCaching       bool       `json:"prefix_caching"`
	Threshold           int32      `json:"threshold"`
	FullISL             *bool      `json:"full_isl"` // absent: true
	Chunked             *bool      `json:"chunked"`  // absent: true
	Watermark           float64    `json:"watermark"`
	Priority            bool       `json:"priority"`
	Async               bool       `json:"async"`
	Stages              []int32    `json:"stages"` // layers of each pipeline stage; absent: there is one
	Ranks               int        `json:"ranks"`  // data-parallel, in lock step; absent: one
	Window              int32      `json:"window"` // of groups of layers that attend to so many tokens
	WindowGroups        int32      `json:"window_groups"`
	Pull                *Pull      `json:"pull"` // absent: the engine computes the prompts itself
	Send                *Send      `json:"send"` // absent: the engine decodes, too
	Spec                int32      `json:"spec"`
	SpecMethod          string     `json:"spec_method"`
	StepNS              int64      `json:"step_ns"`
	TokenNS             int64      `json:"token_ns"`
	Contents            [][2]int32 `json:"contents"` // parent and tokens of each node
	Requests            []Query    `json:"requests"`
}

// Query is a request of a case.
type Query struct {
	ID        int32 `json:"id"`
	Arrival   int64 `json:"arrival"` // ns
	Prompt    int32 `json:"prompt"`
	Output    int32 `json:"output"`
	MaxOutput int32 `json:"max_output"`
	Content   int32 `json:"content"`
	Priority  int8  `json:"priority"`
	Answer    int32 `json:"answer"` // node of Contents that is its output; 0: no later prompt reads that
}

// Step is one step as it was composed.
type Step struct {
	Start     int64      `json:"t"`         // ns
	Batch     [][3]int32 `json:"batch"`     // in order of admission: request, tokens, tokens computed before
	Preempted []int32    `json:"preempted"` // requests
	Free      int64      `json:"free"`      // blocks that it leaves
}

// Result is what a side made of a case.
type Result struct {
	Steps     []Step             `json:"steps"`
	Tokens    map[int32][]int64  `json:"ends"`                // when each token came, ns, by request
	Runs      map[int32][]int64  `json:"ends1,omitempty"`     // the same with runs of steps
	Cached    map[int32]int32    `json:"cached,omitempty"`    // tokens found in the cache at admission
	Transfers map[int32]Transfer `json:"transfers,omitempty"` // KV transfers
}
