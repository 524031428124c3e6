package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// Replica is one replica of a scenario: the model on its GPUs, what its memory holds and what its steps cost. It is all
// that does not depend on the load.
type Replica struct {
	Deployment  hardware.Deployment
	Memory      hardware.Memory
	Model       *hardware.Roofline
	KVBlocks    int64 // that sequences can use
	CacheBlocks int64 // those and the ones that the engine keeps back
	MaxModelLen int32
	PromptMax   int32 // tokens of a prompt that the engine takes; 0: all that a sequence has

	MaxNumBatchedTokens int // of a rank

	SwapBlocks, OffloadBlocks int64 // of host memory, for swapped sequences and for cached prefixes

	notes []string // warnings
}

// tableMax bounds the batch sizes whose price is tabulated; larger batches are priced when they occur.
const tableMax = 4096

// Replica builds a replica of the first pool of s.
func FirstReplica(s *configs.Scenario) (*Replica, error) { return ReplicaOf(s, 0) }

// ReplicaOf builds a replica of the i-th pool of s, or says which value of s no replica can have.
func ReplicaOf(s *configs.Scenario, i int) (*Replica, error) {
	p := &s.Pools[i]
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return nil, s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
	}
	d, err := deploymentOf(s, p)
	if err != nil {
		return nil, err
	}
	efficiency, doubts, err := efficiencyOf(s, p, &d)
	if err != nil {
		return nil, err
	}
	d.Efficiency = efficiency
	r := &Replica{Deployment: d, MaxNumBatchedTokens: stepTokens(p, &engine, &d)}
	r.Memory, err = d.MemoryOf(p.MemoryShare(&engine), tokensMax(p, r.MaxNumBatchedTokens), p.MaxNumSeqs, p.BlockSize)
	if err != nil {
		return nil, because{s.Errorf(s.PoolPath(p, ""), "%s%s", strict.Message(err), shorterSteps(p, &engine, err)), err}
	}
	if err := sizeCache(s, r, p, &engine); err != nil {
		return nil, err
	}
	if err := sizeHostMemory(s, r, p, &engine); err != nil {
		return nil, err
	}
	r.limitPrompts(s, p, &engine)
	r.noteEngine(p, &engine)
	r.price(p)
	r.noteModel(s, p)
	r.noteHardware(p)
	r.notes = append(r.notes, noteDrafts(s, p)...)
	r.notes = append(r.notes, noteTransfers(s, p)...)
	r.notes = append(r.notes, doubts...)
	return r, nil
}

// price makes the model of a replica's steps from its deployment.
func (r *Replica) price(p *configs.Pool) {
	r.Model = hardware.NewRoofline(r.Deployment, min(p.SequencesMax(), tableMax))
}

// because is an error at a place in a scenario, with the one of a part that it comes from.
type because struct{ at, cause error }

func (b because) Error() string { return b.at.Error() }

// Unwrap returns both.
func (b because) Unwrap() []error { return []error{b.at, b.cause} }
