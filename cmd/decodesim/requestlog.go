package main

import (
	"cmp"
	"slices"

	"github.com/decodesim/decodesim/cmd/internal/report"
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
)

// requestLog keeps a row per request for requests.csv. As the router of the pool it notes where each one goes, and asks
// the pool's own router.
type requestLog struct {
	rows      []report.RequestRow
	instances []int32 // by ID
	routed    sim.Router
	pool      string
	classes   []configs.Class
	ingress   sim.Duration
	limit     int // rows beyond which none are kept; 0: no limit
	over      bool
}

// autoRows is how many requests `requests_csv: auto` writes at most.
const autoRows = 100_000

// newRequestLog returns the log that s asks for, or nil.
func newRequestLog(s *configs.Scenario) *requestLog {
	l := &requestLog{pool: s.Pools[0].Name, classes: s.Workload.Classes, limit: autoRows}
	switch s.Output.RequestsCSV {
	case configs.Off:
		return nil
	case configs.On:
		l.limit = 0
	}
	return l
}

// Route implements sim.Router.
func (l *requestLog) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	in := l.routed.Route(now, r, pool)
	for int(r.ID) >= len(l.instances) && !l.over {
		l.instances = append(l.instances, 0)
	}
	if !l.over {
		l.instances[r.ID] = in.ID
	}
	return in
}

func (l *requestLog) add(r *sim.Request, at sim.Time, o sim.Outcome) {
	if l.over {
		return
	}
	if l.limit > 0 && len(l.rows) == l.limit {
		l.over, l.rows, l.instances = true, nil, nil
		return
	}
	row := report.RequestRow{
		ID: r.ID, Arrival: r.Arrival, PromptTokens: r.Prompt, OutputTokens: r.Emitted, CachedTokens: r.Cached, Preemptions: r.Preemptions,
		TTFT: report.Unknown, TPOT: report.Unknown, E2E: report.Unknown, Queue: report.Unknown, Pool: l.pool, Outcome: o.String(),
	}
	if o != sim.Rejected && int(r.ID) < len(l.instances) {
		row.Instance = l.instances[r.ID]
	}
	if len(l.classes) > 0 {
		row.Class = l.classes[r.Class].Name
	}
	if r.Emitted > 0 {
		row.TTFT = r.First.Sub(r.Arrival)
	}
	if r.Admitted > 0 || r.Emitted > 0 || r.Preemptions > 0 {
		row.Queue = r.Admitted.Sub(r.Arrival) - l.ingress
	}
	if o == sim.Completed {
		row.E2E = at.Sub(r.Arrival)
		if r.Emitted > 1 {
			row.TPOT = at.Sub(r.First) / sim.Duration(r.Emitted-1)
		}
	}
	l.rows = append(l.rows, row)
}

// sorted returns the rows in order of arrival.
func (l *requestLog) sorted() []report.RequestRow {
	slices.SortFunc(l.rows, func(a, b report.RequestRow) int { return cmp.Compare(a.ID, b.ID) })
	return l.rows
}
