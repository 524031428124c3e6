package sim_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/small"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

var update = flag.Bool("update", false, "write what the naive twin says of the small scenarios")

// smallScenario returns s as the twin takes it.
func smallScenario(s *small.Scenario) scenario {
	pool := func(p *small.Pool) scenario {
		sc := scenario{size: 1, blockSize: small.BlockSize, maxLen: p.MaxLen, blocks: p.Blocks, policy: p.Scheduler,
			onlyCaches: true,
			model:      prices{overhead: p.Step, token: p.Token}, ahead: p.Ahead, radix: p.Radix, speculation: p.Speculation}
		if p.ByPriority {
			sc.order = schedulers.Priority{}
		}
		sc.uncached, sc.loads = !p.Caches, p.Loads
		sc.recomputes, sc.maxNumSeqs, sc.swapBlocks = p.Recomputes, p.Seqs(), p.Host
		return sc
	}
	sc := pool(&s.Pools[0])
	sc.requests, sc.tree = s.Requests, s.Tree
	for i := range s.Pools[1:] {
		sc.pools = append(sc.pools, pool(&s.Pools[1+i]))
		sc.routes = []sim.Route{{s.Hop(), {Pool: 1}}}
	}
	return sc
}

// TestSmallScenariosEqualTheNaiveTwin, in which each token of a budget counts; in make test a sixth of them. What the
// twin says of them is what the tests of policies compare with.
func TestSmallScenariosEqualTheNaiveTwin(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "internal", "small", small.File)
	var digests []string
	all, known := small.Compared(), small.Outcomes()
	for i := range all {
		if soak.Brief() && !*update && i%6 > 0 {
			digests = append(digests, known[i])
			continue
		}
		digests = append(digests, smallEqualsTwin(t, i, smallScenario(&all[i])))
	}
	if *update {
		var text strings.Builder
		for i := 0; i < len(digests); i += 20 {
			fmt.Fprintln(&text, strings.Join(digests[i:min(i+20, len(digests))], " "))
		}
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
		return
	}
	require.Equal(t, known, digests, "go test ./sim -run TestSmall -update writes %s", path)
}

// smallEqualsTwin compares a scenario with its naive twin, and returns what the twin says of it.
func smallEqualsTwin(t *testing.T, i int, sc scenario) string {
	twin := runNaive(sc)
	bounds := []int{0, 1}
	if !soak.Asked() && i%4 > 0 { // what the twin says of a scenario is the same for both
		bounds = bounds[:1]
	}
	for _, most := range bounds {
		j := newJournal()
		c := sc.config(j)
		c.MaxRun = most
		cl := run(t, c)
		compare(t, fmt.Sprintf("scenario %d, %d steps at once: %+v", i, most, sc.policy), twin, j, cl)
		if twin.cover["unfinished"] == 0 {
			require.NoError(t, errors.Join(sim.CheckCaches(cl), sim.CheckSets(cl)), "scenario %d", i)
		}
	}
	var outcomes []small.Outcome
	for _, r := range twin.all {
		o := small.Outcome{Ended: r.outcome, Cached: r.Cached}
		if n := len(r.tokens); n > 0 {
			o.First = r.tokens[0]
			if r.outcome == sim.Completed.String() {
				o.Last = r.tokens[n-1]
			}
		}
		outcomes = append(outcomes, o)
	}
	return small.Digest(outcomes)
}
