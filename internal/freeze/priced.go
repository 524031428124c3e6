package freeze

import (
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim"
)

// repriced keeps what prices a deployment under the efficiencies that were asked for of late: a fit asks for the same
// ones of every step of it.
type repriced struct {
	base   *hardware.Roofline
	shared bool // by many steps; the batches of a run are priced once under each
	mu     sync.Mutex
	made   map[hardware.Efficiency]*hardware.Roofline
}

// repricedMax is more than the efficiencies that slopes by every constant take.
const repricedMax = 512

func (m *repriced) with(e hardware.Efficiency) *hardware.Roofline {
	if !m.shared {
		return m.base.With(e)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.made[e]
	if !ok {
		if m.made == nil || len(m.made) >= repricedMax {
			m.made = map[hardware.Efficiency]*hardware.Roofline{}
		}
		r = m.base.With(e)
		m.made[e] = r
	}
	return r
}

// Steps freezes measured steps.
type Steps struct {
	shapes    validation.Steps
	byReplica sync.Map // what reprices each
}

// Step freezes a run that is one measured step: its one shape is all that its value waits for.
func (s *Steps) Step(run *measured.Run, above configs.Options, with validation.Efficiencies) (*Frozen,
	string) {
	shape, r, skip := s.shapes.Shape(run, above)
	if skip != "" {
		return nil, skip
	}
	f := &Frozen{Run: run, Deployment: r.Deployment(), shapes: []sim.Shape{shape}}
	f.Deployment.Efficiency = with(run, &f.Deployment)
	have, _ := s.byReplica.LoadOrStore(r, &repriced{base: r, shared: true})
	f.model = have.(*repriced)
	var g sim.Segment
	f.model.with(f.Deployment.Efficiency).Price(f.shapes, &g)
	f.FloorMS = 1e3 * g.Bound.A.Seconds()
	for i := range run.Rows {
		row := &run.Rows[i]
		for j := range row.Values {
			v := &row.Values[j]
			if v.Skip == "" && v.Metric == measured.Duration {
				seconds := g.First.Seconds()
				f.Values = append(f.Values, FrozenValue{Row: row, Value: v, Predicted: v.Unit.Of(seconds), mean: seconds,
					wait: waited{share: []float64{1}}})
			}
		}
	}
	return f, ""
}
