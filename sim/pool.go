package sim

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim/kv"
)

// PoolSpec describes a pool: a set of identical instances and the policies that run them. A run copies it and never
// changes it.
type PoolSpec struct {
	Name    string
	Size    int // instances that take requests from the beginning
	SizeMax int // instances that there may ever be; 0: Size
	// data-parallel ranks of an instance in lock step, each with a queue, a batch and a cache of its own, of which the
	// following says how large they are; 0: as 1
	Ranks int
	// layers of each pipeline stage, of an instance without ranks; the microbatches that they work on share its queue and
	// its cache, see pipeline.go, and Model prices one of them; nil: one stage
	Stages []int32
	// the queue of their microbatches is filled up with some of nothing, as vLLM 0.33 does
	FillsQueue     bool
	Tokenize       Duration      // that the API server takes for each prompt token, see tokenizer
	RankTokenizers bool          // each rank has one; false: they share that of their instance
	Balancer       func() Router // makes what picks the rank of a request, one for each instance; with Ranks above 1
	// sequences that may run at once in an instance that receives caches; 0: it receives none
	MaxNumSeqs int
	// computes the last token of a prompt again if its cache arrives before a token was emitted
	RecomputeLastToken bool
	// caches come as vLLM's KV connectors load them, see loads.go, and so the last token is computed again, too; otherwise
	// a request takes one of MaxNumSeqs from the allocation of its blocks on
	ConnectorLoads bool
	// what a cache that comes leaves free; the zero value: nothing
	Reserved Reserved
	// what a step under way may write is not freed before it has ended, as in vLLM 0.33 with a KV connector: see
	// batch_queue.go
	DefersFrees      bool
	KVBlocks         int64        // cache blocks of one instance that sequences can use
	BlockSize        int32        // tokens per block
	SequenceBlocks   int32        // blocks that a sequence needs whatever its length
	Windowed         Windowed     // blocks that it needs up to the length of a window
	Passing          Passing      // or that it needs as long as no window has passed them; not with Windowed
	MaxModelLen      int32        // prompt plus output tokens; longer requests are rejected
	PromptMax        int32        // prompt tokens; longer requests are rejected; 0: no such limit
	Windows          []Window     // limits on attention that Model prices; at most two
	PrefixCaching    bool         // reuse the cache of equal prompt beginnings
	UnnamedFirst     bool         // evict blocks that no request can ask for before all others
	Drafter          Drafter      // whose cache is reused with that of the model, or not
	RadixCache       bool         // of sequences in a radix tree, as SGLang has it, and not of blocks
	ColdStart        Duration     // that an instance which is started takes to load and compile, while requests wait
	StartsCold       bool         // so do the instances of the beginning; otherwise they are up at time 0
	AsyncScheduling  bool         // a batch is fixed one step before it runs; see Instance.Head
	BatchQueue       int          // steps composed before the result of the first is known, see batch_queue.go; 0: one
	RecvInterval     int          // steps of decodes from one look for requests that have come to the next; 0 is 1
	SwapBlocks       int64        // host memory for swapped sequences, in blocks
	OffloadBlocks    int64        // host memory for what the prefix cache evicts, in blocks
	LoadLink         Link         // over which blocks come back from there beside steps; zero: they come with a step
	Tiers            []Tier       // below that, the nearest first, at most two
	NetworkReserved  uint64       // of what an instance sends and receives, kept from transfers, of FullPort; below it
	WriteBack        bool         // a tier gets what the one above has no room for; false: whatever leaves a batch
	FetchOrRecompute bool         // what takes longer to fetch from a tier is computed; false: it is fetched
	FirstTokenDue    Duration     // after arrival: later first tokens are counted, for controllers; 0: none is
	Classes          int          // of service, that sinks distinguish; 0: as 1
	Order            Order        // of the queue; nil: first come, first served
	Speculation      *Speculation // nil: a token per sequence and step
	Adapters         Adapters     // LoRA adapters that requests may have; the zero value: they have none
	Noise            Noise        // nil: steps last as priced
	Model            StepModel
	Scheduler        Scheduler
	Router           Router
}

// Pool is a pool in a run: what it was built from, and its state.
type Pool struct {
	PoolSpec
	poolState
}

// poolState is what changes in a run.
type poolState struct {
	cluster     *Cluster
	all         []*Instance // all that there may ever be, see at; nil: it has not been asked for
	built       []*Instance // those that are not nil, in the order in which they were asked for
	unasked     int         // those that take requests and are nil
	first       int32       // ID of the first
	places      []int32     // by index in all: those that take requests, in order
	outstanding []int32     // by instance that takes requests: its requests, queued or running or on their way to it
	gate        []int32     // places at the gate, some of which may be empty by now
	atGate      int         // requests that wait there
	sends       bool        // a route goes on from this pool, by a KV transfer
	pushes      bool        // layer by layer
	unseenSends bool        // what sendsUnseen says of a pool that sends
	retractor   Retractor   // nil: the scheduler drops no tokens of a step under way

	stores     [kv.TiersMax]*kv.Store // that its instances share; nil: each has its own
	ports      [kv.TiersMax]int32     // with which those send
	writePorts [kv.TiersMax]int32     // with which they receive

	loaded  int64   // blocks that came from host memory, in instances that are down
	evicted int64   // blocks of content, in instances that are down
	peak    int64   // the most blocks in use at once, in instances that are down
	up      Uint128 // time that instances were up which are down, in picoseconds
}

// validateStages refuses stages that cannot be, or not as they are to be scheduled.
func (p *PoolSpec) validateStages() error {
	ahead := p.BatchQueue == 2 && p.MaxNumSeqs == 0 && (p.FillsQueue || p.Speculation == nil)
	if len(p.Stages) > 256 || slices.ContainsFunc(p.Stages, func(n int32) bool { return n < 1 }) ||
		len(p.Stages) > 1 && (p.Ranks > 1 || p.AsyncScheduling && !ahead) {
		return fmt.Errorf("sim: pool %q: Stages are %d, must be at most 256 of a layer or more, one with Ranks above 1 and, "+
			"with AsyncScheduling, several only with BatchQueue 2, without MaxNumSeqs and, with Speculation, with FillsQueue",
			p.Name, p.Stages)
	}
	return nil
}

func (p *PoolSpec) validate() error {
	switch {
	case p.Size < 0 || max(p.Size, p.SizeMax) < 1 || p.BlockSize < 1 || p.SequenceBlocks < 0 || p.MaxModelLen < 2:
		return fmt.Errorf(
			"sim: pool %q needs at least 1 instance, 1 token per block, 0 blocks per sequence and 2 tokens of context; got "+
				"%d, %d, %d and %d",
			p.Name, p.Size, p.BlockSize, p.SequenceBlocks, p.MaxModelLen)
	case p.Ranks < 0 || p.Ranks > 1 && p.Balancer == nil:
		return fmt.Errorf("sim: pool %q: Ranks is %d, must not be negative and, above 1, needs a Balancer", p.Name, p.Ranks)
	case p.SizeMax != 0 && p.SizeMax < p.Size || p.MaxNumSeqs < 0:
		return fmt.Errorf("sim: pool %q: SizeMax is %d and MaxNumSeqs %d, must be 0 or at least Size, %d, and not negative",
			p.Name, p.SizeMax, p.MaxNumSeqs, p.Size)
	case p.OffloadBlocks < 0 || p.OffloadBlocks > 0 && !p.PrefixCaching:
		return fmt.Errorf("sim: pool %q: OffloadBlocks is %d, must be 0 or, with prefix caching, more", p.Name,
			p.OffloadBlocks)
	case p.RadixCache && (!p.PrefixCaching || p.OffloadBlocks > 0):
		return fmt.Errorf("sim: pool %q: RadixCache is a way of prefix caching without OffloadBlocks", p.Name)
	case p.SwapBlocks > 0 && p.PrefixCaching:
		return fmt.Errorf("sim: pool %q: swapping and prefix caching exclude each other: SwapBlocks is %d", p.Name,
			p.SwapBlocks)
	case p.BatchQueue < 0 || p.BatchQueue > 2 || p.BatchQueue == 2 && !p.AsyncScheduling:
		return fmt.Errorf("sim: pool %q: BatchQueue is %d, must be 0, 1 or, with AsyncScheduling, 2", p.Name, p.BatchQueue)
	case p.RecvInterval < 0 || p.RecvInterval > 1000 ||
		p.RecvInterval > 1 && (!p.AsyncScheduling || p.Ranks > 1 || len(p.Stages) > 1 || p.MaxNumSeqs > 0):
		return fmt.Errorf("sim: pool %q: RecvInterval is %d, must be 0 to 1000 and, above 1, with AsyncScheduling and "+
			"without Ranks, Stages and MaxNumSeqs", p.Name, p.RecvInterval)
	case p.Tokenize < 0 || p.Tokenize > Millisecond:
		return fmt.Errorf("sim: pool %q: Tokenize is %v, must be 0 to %v", p.Name, p.Tokenize, Millisecond)
	case p.ColdStart < 0:
		return fmt.Errorf("sim: pool %q: ColdStart is %v, must not be negative", p.Name, p.ColdStart)
	case p.PromptMax < 0 || p.SwapBlocks < 0 || p.Classes < 0 || p.Classes > 256:
		return fmt.Errorf("sim: pool %q: PromptMax %d and SwapBlocks %d must not be negative, Classes %d be from 0 to 256",
			p.Name, p.PromptMax, p.SwapBlocks, p.Classes)
	case p.Speculation != nil && (p.Speculation.Acceptance == nil || p.Speculation.validate() != nil):
		return fmt.Errorf("sim: pool %q: speculation needs Acceptance and, in order of batch size, drafts from 0 to %d",
			p.Name, DraftsMax)
	case p.Model == nil || p.Scheduler == nil || p.Router == nil:
		return fmt.Errorf("sim: pool %q needs Model, Scheduler and Router", p.Name)
	case len(p.Windows) > 2:
		return fmt.Errorf("sim: pool %q has %d attention windows, at most 2", p.Name, len(p.Windows))
	}
	if p.PrefixCaching && p.KVBlocks > math.MaxInt32 {
		return fmt.Errorf("sim: pool %q has %d KV blocks, at most %d with prefix caching", p.Name, p.KVBlocks, math.MaxInt32)
	}
	if err := cmp.Or(p.validateStages(), p.validateWindows(), p.validateLoads(), p.validateReserved(), p.validateTiers(),
		p.validateAdapters()); err != nil {
		return err
	}
	for _, w := range p.Windows {
		if w.Tokens < 1 {
			return fmt.Errorf("sim: pool %q has an attention window of %d tokens, must be at least 1", p.Name, w.Tokens)
		}
	}
	c := kv.Config{Blocks: p.KVBlocks, BlockSize: p.BlockSize, SequenceBlocks: p.SequenceBlocks,
		Windowed: p.Windowed, Passing: p.Passing}
	if v := p.Speculation; v != nil && p.Passing.Blocks > 0 {
		c.Passing.TokensMax += v.Tokens + v.LookAhead // which have blocks beside the tokens of a step
	}
	k := kv.New(c)
	if need := k.BlocksMax(p.MaxModelLen); need > p.KVBlocks {
		return fmt.Errorf("sim: pool %q: one request of %d tokens needs %d KV blocks, the cache has %d", p.Name,
			p.MaxModelLen, need, p.KVBlocks)
	}
	return nil
}

// addInstances adds the instances of p to the cluster. Most are built when they are first asked for; those with ranks
// or stages, or with a start to end, are part of what happens from the beginning.
func (p *Pool) addInstances(c *Cluster) {
	n := max(p.Size, p.SizeMax)
	p.cluster, p.first = c, int32(len(c.instances))
	p.all, p.unasked = make([]*Instance, n), p.Size
	c.instances = append(c.instances, p.all...)
	p.list()
	cold := p.StartsCold && p.ColdStart > 0
	if p.Ranks <= 1 && len(p.Stages) <= 1 && !cold {
		return
	}
	for i := range n {
		if in := p.at(i); cold && i < p.Size {
			in.cold, in.step.end = true, Time(0).Add(p.ColdStart)
			c.ends.Set(in.ID, in.step.end)
		}
	}
}

// unwindEvery is after how many instances that are built the run reports them and asks whether it is cancelled.
const unwindEvery = 1 << 12

// at returns the i-th instance that there may ever be. One that was never asked for has done nothing so far: it is
// built now as it was at the beginning.
func (p *Pool) at(i int) *Instance {
	if in := p.all[i]; in != nil {
		return in
	}
	return p.buildAt(i)
}

// buildAt builds the i-th instance.
func (p *Pool) buildAt(i int) *Instance {
	if n := len(p.built); n > 0 && n%unwindEvery == 0 {
		p.cluster.unwind(n, len(p.all))
	}
	in := newInstance(p.cluster, p, p.first+int32(i))
	in.listed, in.place = p, -1
	if i < p.Size {
		in.life = live
		p.unasked--
		place, _ := slices.BinarySearch(p.places, int32(i))
		in.place = int32(place)
	}
	p.all[i], p.cluster.instances[in.ID] = in, in
	p.built = append(p.built, in)
	if n := len(p.built); n == len(p.all) && p.cluster.building != nil {
		p.cluster.unwind(n, n)
	}
	return in
}

// built yields those of all that are not nil.
func built[T any](all []*T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, one := range all {
			if one != nil && !yield(one) {
				return
			}
		}
	}
}

// list lists the instances that take requests.
func (p *Pool) list() {
	p.places, p.outstanding = p.places[:0], p.outstanding[:0]
	for i, in := range p.all {
		load := int32(0)
		if in != nil {
			in.place, load = -1, in.load
			if in.life != live {
				continue
			}
			in.place = int32(len(p.places))
		} else if i >= p.Size {
			continue
		}
		p.places, p.outstanding = append(p.places, int32(i)), append(p.outstanding, load)
	}
}

// Len returns the number of instances that take requests.
func (p *Pool) Len() int { return len(p.places) }

// Instance returns the i-th instance that takes requests.
func (p *Pool) Instance(i int) *Instance { return p.at(int(p.places[i])) }

// Replicas returns how many instances there may ever be, and Replica the i-th of them.
func (p *Pool) Replicas() int { return len(p.all) }

// Replica returns the i-th instance, whether it takes requests or not.
func (p *Pool) Replica(i int) *Instance { return p.at(i) }

// Waiting returns how many requests wait: at the gate, in the queues of instances and on the way there, and for a KV
// transfer to them.
func (p *Pool) Waiting() int {
	n := p.atGate
	for _, in := range p.built {
		n += in.Queued() + in.Incoming() + in.Tokenizing()
	}
	return n
}

// FirstTokens returns how many first tokens the pool has emitted, and how many of them after FirstTokenDue.
func (p *Pool) FirstTokens() (n, overdue int64) {
	for _, in := range p.built {
		n, overdue = n+in.tally.firstTokens, overdue+in.tally.overdue
	}
	return n, overdue
}

// AtGate returns how many requests wait for an instance that takes requests.
func (p *Pool) AtGate() int { return p.atGate }

// Outstanding returns, by instance that takes requests, the requests routed to it that have not ended. It must not be
// modified.
func (p *Pool) Outstanding() []int32 { return p.outstanding }

// PoolTotals is the load of a pool over a run.
type PoolTotals struct {
	Instances      int     // that take requests
	UpS            float64 // Σ time over instances from their start on: what is paid for
	BusyS          float64 // Σ length of steps over instances
	Steps          int64
	DecodeSum      int64 // Σ over steps of the decoding sequences
	KVBlocks       int64 // of one instance, or rank
	KVPeak         int64 // the most blocks one instance, or rank, used at once
	FinishedRowSum int64 // Σ over steps of the finished rows
	Drafted        int64 // tokens
	Accepted       int64 // drafted tokens that were emitted to clients
	Preemptions    int64
	Swaps          int64 // preemptions to host memory
	Prompted       int64 // prompt tokens of the requests admitted, each counted once
	Cached         int64 // prompt tokens that were cached
	Loaded         int64 // cached tokens that came from host memory
	CachedBelow    int64 // tokens of Cached that host memory had, where there are tiers below it
	Recomputed     int64 // tokens that a tier had and it would have taken longer to fetch
	Tiers          []TierTotals
	Evictions      int64 // cached blocks of content that made room for others, if windows had not passed them as output
	Adapters       AdapterTotals
	Ranks          RankTotals
	Phases         PhaseTotals
}

// TierTotals is what came from a tier over a run, in tokens.
type TierTotals struct {
	Fetched int64 // to host memory
	Written int64 // to it, where that takes time
	Cached  int64 // of PoolTotals.CachedBelow
}

// PoolTotals returns the load of the i-th pool so far.
func (c *Cluster) PoolTotals(i int) PoolTotals {
	p := c.pools[i]
	t := PoolTotals{
		Instances: len(p.places), KVBlocks: p.KVBlocks, Loaded: p.loaded * int64(p.BlockSize),
		Evictions: p.evicted, KVPeak: p.peak, UpS: p.up.Float() * 1e-12, Tiers: make([]TierTotals, len(p.Tiers)),
	}
	for i, in := range p.all {
		if in == nil {
			if i < p.Size {
				t.UpS += c.now.Sub(0).Seconds()
			}
			continue
		}
		t.BusyS += in.tally.busy.Seconds()
		t.Phases.add(&in.tally.phases)
		t.Steps += in.tally.steps
		if in.group != nil {
			t.Ranks.add(&in.group.totals)
		}
		for _, rank := range in.parts {
			for _, lane := range rank.batches() {
				t.add(lane)
			}
			t.addTiers(rank)
			t.addCache(rank)
		}
		if in.life != down {
			t.UpS += c.now.Sub(in.since).Seconds()
		}
	}
	return t
}

// add counts what an instance without ranks, a rank or a microbatch has done.
func (t *PoolTotals) add(in *Instance) {
	t.DecodeSum += in.tally.decodeSum
	t.FinishedRowSum += in.tally.finishedSum
	t.Drafted += in.tally.drafted
	t.Accepted += in.tally.accepted
	t.Preemptions += in.tally.preemptions
	t.Swaps += in.tally.swaps
	t.Prompted += in.tally.prompted
	t.Cached += in.tally.cached
	t.Adapters.add(&in.tally.adapterTally)
}

// addCache counts what the cache of an instance without ranks, or of a rank, has done.
func (t *PoolTotals) addCache(in *Instance) {
	t.Evictions += in.cache.Evicted()
	t.Loaded += in.cache.Loaded() * int64(in.pool.BlockSize)
	t.KVPeak = max(t.KVPeak, in.cache.AllocatedMax())
}
