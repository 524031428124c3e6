package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
)

// fleetsCovered are the least numbers of what makes the comparison of fleets worth something that the usual cases must
// draw.
var fleetsCovered = map[string]int{
	"KV transfers": 3000, "blocks sent and freed a step later": 20, "gaps moved": 1000,
	"gaps restarted": 30, "gaps preempted": 100, "gaps swapped": 50,
	"tokens emitted at admission": 1000, "last tokens computed again": 300, "cached at the destination": 100,
	"KV transfers without a free sequence": 5000, "loads of more than may run": 100, "KV transfers without room": 1000,
	"KV transfers behind swapped requests": 500,
	"KV transfers stopped by no-evict":     30, "KV transfers stopped by what is left free": 300,
	"retracted requests restored": 5, "retracted requests that wait": 100, "steps composed again for caches": 50,
	"flows that share a port":           500,
	"pushes that waited for the prompt": 200, "prompts that waited for a push": 200,
	"first layers that wait for the prompt": 200,
	"reservations lost":                     1, "pulled for want of a push": 1,
	"waits at a gate": 500, "KV transfers at a gate": 100, "cancellations and failures at a gate": 50,
	"starts": 300, "came up": 300, "woken by a request": 50,
	"failures": 100, "steps lost": 10, "drains": 50, "switches": 50,
	"restarts between two tokens": 30, "lost": 30, "restarts": 100, "refusals": 200, "without a cache": 300,
	"dropped while inbound": 50, "dropped while transferring": 100,
	"completed": 5000, "failed": 500, "rejected": 300, "unfinished": 5,
}

// variant is how a scenario is run: a bound on the steps of an event, and the binary logarithm of the wheel; 0: none,
// and as usual.
type variant struct {
	maxRun int
	wheel  uint
}

// variants returns how a scenario is run beside its twin: without a bound, and in one of three other ways; the soak
// runs it in all of them.
func variants(t *rapid.T) []variant {
	others := []variant{{1, 0}, {3, 6}, {0, 6}}
	if !soak.Asked() {
		others = others[rapid.IntRange(0, 2).Draw(t, "variant"):][:1]
	}
	return append([]variant{{0, 0}}, others...)
}

// TestFleetsEqualTheNaiveTwin: KV transfers, links that are shared, gates and instances that come, go and fail give
// every token of every request at the very picosecond at which the naive simulator emits it.
func TestFleetsEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	cover := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawFleetScenario(t)
		twin := runNaive(sc)
		for _, variant := range variants(t) {
			j := newJournal()
			c := sc.config(j)
			c.MaxRun, c.LogWheel = variant.maxRun, variant.wheel
			cl := run(t, c)
			compare(t, fmt.Sprintf("%+v", variant), twin, j, cl)
			if twin.cover["unfinished"] == 0 {
				require.NoError(t, sim.CheckCaches(cl))
			}
		}
		coverFleet(cover, twin)
	})
	wantCovered(t, cover["cases"], cover, fleetsCovered)
}

// coverFleet counts what came up.
func coverFleet(cover map[string]int, twin *naiveFleet) {
	cover["cases"]++
	cover["restarts"] += int(twin.counts.Restarted)
	cover["refusals"] += int(twin.counts.NotAdmitted)
	for what, n := range twin.cover {
		if what != "unfinished" {
			cover[what] += n
		}
	}
	for what, n := range twin.gaps {
		cover["gaps "+what] += n
	}
	for _, r := range twin.all {
		cover[r.outcome]++
	}
}
