package run

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/memory"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// What parts of a run take, in bytes, as TestTheEstimateOfMemory measures it. A slice that grows holds its old half
// until the new one is filled, and garbage that has not been collected counts as well.
const (
	placeBytes   = 100  // of an instance that nobody has asked for
	replicaBytes = 3000 // of one that has been asked for and has served nothing
	rowBytes     = 400  // of a request whose row is kept
	garbage      = 2
)

// Need estimates the memory that a run takes at its most, in bytes: what grows with its scenario and is known before
// it. Requests that wait take 24 bytes each, and how many will wait is what a run finds out: Drive ends one that leaves
// hardly any memory.
func Need(b *build.Built, o Options) int64 {
	need := int64(0)
	for _, p := range b.Config.Pools {
		most := int64(max(p.Size, p.SizeMax)) * int64(max(1, p.Ranks))
		need += most*placeBytes + min(most, asked(p, b.Requests))*replicaBytes
	}
	if o.Rows < 0 {
		need += int64(b.Requests) * rowBytes
	}
	return garbage * need
}

// asked returns how many instances of a pool are asked for, if there are so many: a router that asks only for those
// that it routes to needs none for itself.
func asked(p *sim.PoolSpec, requests float64) int64 {
	_, counts := p.Router.(routers.LeastLoaded)
	_, blind := p.Router.(sim.Blind)
	if p.Ranks > 1 || len(p.Stages) > 1 || p.StartsCold || !counts && !blind || requests == 0 || requests > 1<<40 {
		return math.MaxInt64
	}
	return int64(requests)
}

// TooLarge is the error of a run that would take more memory than there is.
type TooLarge struct{ message string }

// Error implements error.
func (e TooLarge) Error() string { return e.message }

// fits refuses a run that needs more memory than there is: the system would end it, or everything else.
func fits(b *build.Built, o Options) error {
	need, available := Need(b, o), memory.Available()
	if need <= available || available == 0 {
		return nil
	}
	return TooLarge{fmt.Sprintf("%s would take about %.1f GB of memory, and %.1f GB are available; expected fewer "+
		"replicas, or fewer requests where a row of each is kept (output.requests_csv: auto keeps up to %s; compare "+
		"keeps all)", b.Scenario.Name, float64(need)/1e9, float64(available)/1e9, text.Count(autoRows))}
}
