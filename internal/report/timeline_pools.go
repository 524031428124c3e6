package report

import (
	"gonum.org/v1/plot/plotter"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/sim/metrics"
)

// poolShades tell pools apart: lines of one row that are of the same kind.
var poolShades = [...]plot.Shade{plot.Blue, plot.Brick, plot.Green, plot.Amber, plot.InkDark}

func poolShade(i int) plot.Shade { return poolShades[i%len(poolShades)] }

// extraRows returns how many rows a timeline has beyond four: one more for each pool but the first, and one for
// replicas that come and go.
func extraRows(s []metrics.Sample) int {
	if len(s) == 0 {
		return 0
	}
	extra := max(0, len(s[0].Pools)-1)
	if comeAndGo(s) {
		extra++
	}
	return extra
}

// comeAndGo reports whether some pool has more replicas at times than at others.
func comeAndGo(s []metrics.Sample) bool {
	for _, m := range s {
		for i, p := range m.Pools {
			if p.Live != s[0].Pools[i].Live || p.Starting > 0 || p.Draining > 0 {
				return true
			}
		}
	}
	return false
}

// poolRows are, of each pool, what runs, waits and is on its way to it, then the caches of all pools, and their
// replicas where they come and go.
func poolRows(s []metrics.Sample, unitS float64) (rows []row) {
	var caches []rowLine
	for i, p := range s[0].Pools {
		of := func(level func(p *metrics.PoolSample) float64) plotter.XYs {
			return levels(s, unitS, func(m metrics.Sample) float64 { return level(&m.Pools[i]) })
		}
		lines := []rowLine{
			{p.Name + ": running", plot.Blue, plot.BlueTint,
				of(func(p *metrics.PoolSample) float64 { return float64(p.Running) })},
			{"waiting", plot.Brick, plot.White, of(func(p *metrics.PoolSample) float64 { return float64(p.Waiting) })},
		}
		if moving := of(func(p *metrics.PoolSample) float64 { return float64(p.Moving) }); highest(
			[]rowLine{{points: moving}}) > 0 {
			lines = append(lines, rowLine{"on their way to it", plot.Green, plot.White, moving})
		}
		rows = append(rows, countRow(lines...))
		caches = append(caches, rowLine{p.Name, poolShade(i), plot.White, of(func(p *metrics.PoolSample) float64 {
			return float64(p.KVUsed) / float64(max(1, p.KVTotal))
		})})
	}
	caches[0].name = "KV cache in use: " + caches[0].name
	rows = append(rows, shareRow(caches...))
	if comeAndGo(s) {
		rows = append(rows, replicaRow(s, unitS))
	}
	return rows
}

// replicaRow is how many replicas of each pool take requests, and how many are on their way up.
func replicaRow(s []metrics.Sample, unitS float64) row {
	var lines []rowLine
	for i, p := range s[0].Pools {
		name := p.Name
		if i == 0 {
			name = "replicas that take requests: " + name
		}
		lines = append(lines, rowLine{name, poolShade(i), plot.White,
			levels(s, unitS, func(m metrics.Sample) float64 { return float64(m.Pools[i].Live) })})
	}
	starting := levels(s, unitS, func(m metrics.Sample) float64 {
		n := 0
		for _, p := range m.Pools {
			n += p.Starting
		}
		return float64(n)
	})
	return countRow(append(lines, rowLine{"starting", plot.InkSoft, plot.White, starting})...)
}
