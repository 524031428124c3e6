package workloads

import (
	"fmt"
	"math"
	"sort"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
)

// Adapters says which LoRA adapters requests have, of a set of some. The k-th of them is asked for in proportion to
// k^−Zipf or, if there are any, to the k-th of Weights.
type Adapters struct {
	Count     int64
	Zipf      float64
	Weights   []float64
	BaseShare float64 // of the requests that have none: they are of the model itself
	Rank      int     // rows of each
}

// adapterLaw draws an adapter of a set.
type adapterLaw struct {
	first uint16    // of the set, among those of all
	upTo  []float64 // cumulative weights
	base  float64
}

// newAdapterLaw returns the law of a set whose adapters follow so many others.
func newAdapterLaw(field string, a *Adapters, before int64) (l adapterLaw, err error) {
	switch {
	case a.Count < 1 || before+a.Count > sim.AdaptersMax:
		return l, check.Count(field+".count", a.Count, sim.AdaptersMax-before)
	case len(a.Weights) > 0 && int64(len(a.Weights)) != a.Count:
		return l, check.Refuse(field+".weights", len(a.Weights), "a weight for each of the adapters that count says")
	case len(a.Weights) > 0 && a.Zipf != 0:
		return l, check.Absent(field+".zipf", "weights", true, a.Zipf)
	case !(a.Zipf >= 0 && a.Zipf <= zipfMax):
		return l, check.Within(field+".zipf", a.Zipf, 0, zipfMax)
	case !(a.BaseShare >= 0 && a.BaseShare <= 1):
		return l, check.Within(field+".base_share", a.BaseShare, 0, 1)
	}
	l = adapterLaw{first: uint16(before + 1), base: a.BaseShare, upTo: make([]float64, a.Count)}
	sum := 0.0
	for i := range l.upTo {
		w := math.Exp(-a.Zipf * math.Log(float64(i+1)))
		if len(a.Weights) > 0 {
			w = a.Weights[i]
		}
		if !(w >= 0 && w <= weightMax) {
			return l, check.Within(field+".weights", w, 0, weightMax)
		}
		sum += w
		l.upTo[i] = sum
	}
	if !(sum > 0) {
		return l, check.Refuse(field+".weights", sum, "weights whose sum is above 0")
	}
	return l, nil
}

// The largest exponent and weight.
const (
	zipfMax   = 10
	weightMax = 1e9
)

// draw returns an adapter, or 0 for none, by two numbers in [0, 1).
func (l *adapterLaw) draw(base, u float64) uint16 {
	if base < l.base {
		return 0
	}
	x := u * l.upTo[len(l.upTo)-1]
	i := sort.Search(len(l.upTo)-1, func(i int) bool { return x < l.upTo[i] })
	return l.first + uint16(i)
}

// Adapted gives the requests of a source their adapters. All requests of a session have the same, and so have all
// answers to a prompt. What an adapter has in the cache no other finds: each has a copy of the tree of contents, as far
// as its requests name it.
type Adapted struct {
	source  sim.Source
	laws    []adapterLaw // of the workload, and of the classes that have their own
	law     []int        // of each class, in laws; −1: its requests have none
	answers int32        // to a prompt, which are as many requests with consecutive IDs
	draws   *rng.Keyed
	named   bool          // the source says which adapter a request has, and the laws only how many there are
	tree    *sim.Contents // nil: nothing is shared
	copies  map[copied]int32
}

// copied is a node of contents as an adapter has it.
type copied struct {
	adapter uint16
	node    int32
}

var (
	_ sim.Source   = (*Adapted)(nil)
	_ sim.Follower = (*AdaptedFollower)(nil)
)

// AdapterMix is the adapters of a workload: those of all requests, and those of classes that have their own.
type AdapterMix struct {
	All     *Adapters   // nil: requests of classes without their own have none
	Classes []*Adapters // by class; nil: as All
	Answers int64       // to each prompt
	Named   bool        // requests of the source have those of All, by number, and nothing is drawn
}

// NewAdapted returns the source with adapters, and how many rows each of these has, the first being that of adapter 1.
// tree is that of the source's contents, or nil.
func NewAdapted(source sim.Source, m AdapterMix, tree *sim.Contents, seed uint64) (sim.Source, []int, error) {
	a := &Adapted{source: source, answers: int32(max(1, m.Answers)), draws: rng.NewKeyed(seed, "workloads.adapters"),
		named: m.Named, tree: tree, copies: map[copied]int32{}}
	var ranks []int
	add := func(field string, set *Adapters) error {
		law, err := newAdapterLaw(field, set, int64(len(ranks)))
		if err != nil {
			return err
		}
		a.laws = append(a.laws, law)
		for range set.Count {
			ranks = append(ranks, set.Rank)
		}
		return nil
	}
	all := -1
	if m.All != nil {
		if err := add("adapters", m.All); err != nil {
			return nil, nil, err
		}
		all = 0
	}
	a.law = []int{all}
	for i, set := range m.Classes {
		if i > 0 {
			a.law = append(a.law, all)
		}
		if set == nil {
			continue
		}
		a.law[i] = len(a.laws)
		if err := add(fmt.Sprintf("classes[%d].adapters", i), set); err != nil {
			return nil, nil, err
		}
	}
	if f, ok := source.(sim.Follower); ok {
		return &AdaptedFollower{Adapted: a, follower: f}, ranks, nil
	}
	return a, ranks, nil
}

// Next fills the next request of the source, with its adapter.
func (a *Adapted) Next(r *sim.Request) bool {
	if !a.source.Next(r) {
		return false
	}
	i := a.law[min(int(r.Class), len(a.law)-1)]
	if i < 0 {
		return true
	}
	if !a.named {
		r.Adapter = a.laws[i].of(a, r)
	}
	if r.Adapter != 0 && a.tree != nil {
		r.Content, r.OutputContent = a.copyOf(r.Adapter, r.Content), a.copyOf(r.Adapter, r.OutputContent)
	}
	return true
}

// of draws the adapter of r.
func (l *adapterLaw) of(a *Adapted, r *sim.Request) uint16 {
	key, kind := uint64(uint32(r.ID/a.answers)), uint64(0)
	if r.Session != 0 {
		key, kind = uint64(uint32(r.Session)), 1
	}
	draws := a.draws.At(key, kind)
	base, u := draws.Float64(), draws.Float64()
	return l.draw(base, u)
}

// copyOf returns the node of an adapter that stands for one of the source's.
func (a *Adapted) copyOf(adapter uint16, node int32) int32 {
	if node == 0 {
		return 0
	}
	key := copied{adapter, node}
	if own, ok := a.copies[key]; ok {
		return own
	}
	parent := a.tree.Parent(node)
	own := a.tree.Add(a.copyOf(adapter, parent), a.tree.Tokens(node)-a.tree.Tokens(parent))
	a.copies[key] = own
	return own
}

// Contents returns the tree that the requests' Content is in; nil: nothing is shared.
func (a *Adapted) Contents() *sim.Contents { return a.tree }

// Unadapted returns the source whose requests these are.
func (a *Adapted) Unadapted() sim.Source { return a.source }

// Err says why the source ended before its limits, or nil.
func (a *Adapted) Err() error {
	if f, ok := a.source.(interface{ Err() error }); ok {
		return f.Err()
	}
	return nil
}

// AdaptedFollower is the Adapted of a source whose requests depend on how others went.
type AdaptedFollower struct {
	*Adapted
	follower sim.Follower
}

// When returns the instant of the earliest request that is due.
func (a *AdaptedFollower) When() sim.Time { return a.follower.When() }

// Done passes the end of r on to the source.
func (a *AdaptedFollower) Done(at sim.Time, r *sim.Request) { a.follower.Done(at, r) }
