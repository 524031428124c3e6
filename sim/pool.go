package sim

import (
	"fmt"
	"math"
)

// Pool is a set of identical instances and the policies that run them.
type Pool struct {
	Name           string
	Size           int          // instances
	KVBlocks       int64        // cache blocks of one instance that sequences can use
	BlockSize      int32        // tokens per block
	SequenceBlocks int32        // blocks a sequence holds whatever its length
	MaxModelLen    int32        // prompt plus output tokens; longer requests are rejected
	PromptMax      int32        // prompt tokens; longer requests are rejected; 0: no such limit
	Windows        []Window     // limits on attention that Model prices; at most two
	PrefixCaching  bool         // find the cache of equal prompt beginnings again
	ColdStart      Duration     // until which an instance loads and compiles, and requests wait
	Ahead          bool         // asynchronous scheduling: a batch is fixed one step before it runs; see Instance.Head
	SwapBlocks     int64        // host memory for swapped sequences, in blocks
	OffloadBlocks  int64        // host memory for what the prefix cache has no room for, in blocks
	Classes        int          // of service, that sinks tell apart; 0: as 1
	Order          Order        // of the queue; nil: first come, first served
	Speculation    *Speculation // nil: a token per sequence and step
	Noise          Noise        // nil: steps last as priced
	Model          StepModel
	Scheduler      Scheduler
	Router         Router

	instances   []*Instance
	outstanding []int32 // requests of each instance, queued or running
	preemptions int64
	swaps       int64 // of those, to host memory
	prompted    int64 // prompt tokens of the requests admitted
	cached      int64 // of those, found in the cache
}

func (p *Pool) validate() error {
	switch {
	case p.Size < 1 || p.BlockSize < 1 || p.SequenceBlocks < 0 || p.MaxModelLen < 2:
		return fmt.Errorf("sim: pool %q needs at least 1 instance, 1 token per block, 0 blocks per sequence and 2 tokens of context; got %d, %d, %d and %d",
			p.Name, p.Size, p.BlockSize, p.SequenceBlocks, p.MaxModelLen)
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

// Len returns the number of instances.
func (p *Pool) Len() int { return len(p.instances) }

// Instance returns the i-th instance.
func (p *Pool) Instance(i int) *Instance { return p.instances[i] }

// Outstanding returns, by instance, the requests routed to it that have not ended. It must not be modified.
func (p *Pool) Outstanding() []int32 { return p.outstanding }
