package sim

import (
	"fmt"
	"math"
)

// Pool is a set of identical instances and the policies that run them.
type Pool struct {
	Name               string
	Size               int          // instances that take requests from the beginning
	SizeMax            int          // instances that there may ever be; 0: Size
	MaxNumSeqs         int          // sequences that may run at once in one that receives caches; 0: it receives none
	RecomputeLastToken bool         // computes the last token of a prompt again whose cache it received before a token was emitted
	KVBlocks           int64        // cache blocks of one instance that sequences can use
	BlockSize          int32        // tokens per block
	SequenceBlocks     int32        // blocks a sequence holds whatever its length
	MaxModelLen        int32        // prompt plus output tokens; longer requests are rejected
	PromptMax          int32        // prompt tokens; longer requests are rejected; 0: no such limit
	Windows            []Window     // limits on attention that Model prices; at most two
	PrefixCaching      bool         // find the cache of equal prompt beginnings again
	ColdStart          Duration     // until which an instance loads and compiles, and requests wait
	AsyncScheduling    bool         // asynchronous scheduling: a batch is fixed one step before it runs; see Instance.Head
	SwapBlocks         int64        // host memory for swapped sequences, in blocks
	OffloadBlocks      int64        // host memory for what the prefix cache has no room for, in blocks
	FirstTokenDue      Duration     // of first tokens after arrival: later ones are counted, for controllers; 0: none is
	Classes            int          // of service, that sinks tell apart; 0: as 1
	Order              Order        // of the queue; nil: first come, first served
	Speculation        *Speculation // nil: a token per sequence and step
	Noise              Noise        // nil: steps last as priced
	Model              StepModel
	Scheduler          Scheduler
	Router             Router

	all         []*Instance // SizeMax of them
	instances   []*Instance // those that take requests, in order of ID
	outstanding []int32     // requests of each of those, queued or running or on their way to it
	gate        []int32     // slots of the lobby, of those who wait for an instance that takes requests or did
	gated       int         // of those, who do
	hands       bool        // to another pool
	pushes      bool
	firsts      int64 // first tokens emitted
	late        int64 // of those, after Due
	preemptions int64
	swaps       int64 // of those, to host memory
	prompted    int64 // prompt tokens of the requests admitted
	cached      int64 // of those, found in the cache
	loaded      int64 // blocks that came from host memory, in instances that are down
	evicted     int64 // blocks of content, likewise
	peak        int64 // the most blocks in use at once, likewise
	up          Duration
}

func (p *Pool) validate() error {
	switch {
	case p.Size < 0 || max(p.Size, p.SizeMax) < 1 || p.BlockSize < 1 || p.SequenceBlocks < 0 || p.MaxModelLen < 2:
		return fmt.Errorf("sim: pool %q needs at least 1 instance, 1 token per block, 0 blocks per sequence and 2 tokens of context; got %d, %d, %d and %d",
			p.Name, p.Size, p.BlockSize, p.SequenceBlocks, p.MaxModelLen)
	case p.SizeMax != 0 && p.SizeMax < p.Size || p.MaxNumSeqs < 0:
		return fmt.Errorf("sim: pool %q: SizeMax is %d and Seats %d, must be 0 or at least Size, %d, and not negative", p.Name, p.SizeMax, p.MaxNumSeqs, p.Size)
	case p.OffloadBlocks < 0 || p.OffloadBlocks > 0 && !p.PrefixCaching:
		return fmt.Errorf("sim: pool %q: OffloadBlocks is %d, must be 0 or, with prefix caching, more", p.Name, p.OffloadBlocks)
	case p.SwapBlocks > 0 && p.PrefixCaching:
		return fmt.Errorf("sim: pool %q: swapping and prefix caching exclude each other: SwapBlocks is %d", p.Name, p.SwapBlocks)
	case p.ColdStart < 0:
		return fmt.Errorf("sim: pool %q: ColdStart is %v, must not be negative", p.Name, p.ColdStart)
	case p.PromptMax < 0 || p.SwapBlocks < 0 || p.Classes < 0 || p.Classes > 256:
		return fmt.Errorf("sim: pool %q: PromptMax %d and SwapBlocks %d must not be negative, Classes %d be from 0 to 256",
			p.Name, p.PromptMax, p.SwapBlocks, p.Classes)
	case p.Speculation != nil && (p.Speculation.Acceptance == nil || p.Speculation.validate() != nil):
		return fmt.Errorf("sim: pool %q: speculation needs Acceptance and, in order of batch size, drafts from 0 to %d", p.Name, DraftsMax)
	case p.Model == nil || p.Scheduler == nil || p.Router == nil:
		return fmt.Errorf("sim: pool %q needs Model, Scheduler and Router", p.Name)
	case len(p.Windows) > 2:
		return fmt.Errorf("sim: pool %q has %d attention windows, at most 2", p.Name, len(p.Windows))
	}
	if p.PrefixCaching && p.KVBlocks > math.MaxInt32 {
		return fmt.Errorf("sim: pool %q has %d KV blocks, at most %d with prefix caching", p.Name, p.KVBlocks, math.MaxInt32)
	}
	for _, w := range p.Windows {
		if w.Tokens < 1 {
			return fmt.Errorf("sim: pool %q has an attention window of %d tokens, must be at least 1", p.Name, w.Tokens)
		}
	}
	k := newCache(p.KVBlocks, p.BlockSize, p.SequenceBlocks)
	if need := k.Blocks(p.MaxModelLen); need > p.KVBlocks {
		return fmt.Errorf("sim: pool %q: one request of %d tokens needs %d KV blocks, the cache has %d", p.Name, p.MaxModelLen, need, p.KVBlocks)
	}
	return nil
}

// found builds the pool's instances for a run.
func (p *Pool) found(c *Cluster) {
	p.all, p.instances, p.outstanding, p.gate, p.gated = nil, nil, nil, nil, 0
	p.preemptions, p.prompted, p.cached, p.swaps, p.loaded, p.evicted, p.peak, p.up, p.firsts, p.late = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	p.hands, p.pushes = false, false
	for i := range max(p.Size, p.SizeMax) {
		in := newInstance(c, p, int32(len(c.instances)))
		c.instances, p.all = append(c.instances, in), append(p.all, in)
		if i >= p.Size {
			continue
		}
		if in.life = live; p.ColdStart > 0 {
			in.cold, in.end = true, Time(0).Add(p.ColdStart)
			c.ends.set(in.ID, in.end)
		}
	}
	p.list()
}

// list lists the instances that take requests.
func (p *Pool) list() {
	p.instances, p.outstanding = p.instances[:0], p.outstanding[:0]
	for _, in := range p.all {
		if in.place = -1; in.life == live {
			in.place = int32(len(p.instances))
			p.instances, p.outstanding = append(p.instances, in), append(p.outstanding, in.load)
		}
	}
}

// Len returns the number of instances that take requests.
func (p *Pool) Len() int { return len(p.instances) }

// Instance returns the i-th instance that takes requests.
func (p *Pool) Instance(i int) *Instance { return p.instances[i] }

// All returns how many instances there may ever be, and Any the i-th of them.
func (p *Pool) Replicas() int { return len(p.all) }

// Any returns the i-th instance, whether it takes requests or not.
func (p *Pool) Replica(i int) *Instance { return p.all[i] }

// Firsts returns how many first tokens the pool has emitted, and how many of them after Due.
func (p *Pool) FirstTokens() (n, late int64) { return p.firsts, p.late }

// Gated returns how many requests wait for an instance that takes requests.
func (p *Pool) AtGate() int { return p.gated }

// Outstanding returns, by instance that takes requests, the requests routed to it that have not ended. It must not be modified.
func (p *Pool) Outstanding() []int32 { return p.outstanding }
