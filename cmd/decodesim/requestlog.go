package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/sim"
)

// requestLog keeps a row per request for requests.csv. As the router of each pool it notes where each one goes, and asks the
// pool's own router.
type requestLog struct {
	rows    []report.RequestRow
	places  [][]int32 // by pool and request: the instance, counted from 0 in its pool; elsewhere: it never came there
	pools   []*sim.Pool
	routes  []sim.Route
	classes []configs.Class
	ingress sim.Duration
	egress  sim.Duration
	limit   int // rows beyond which none are kept; 0: no limit
	over    bool
}

// autoRows is how many requests `requests_csv: auto` writes at most.
const autoRows = 100_000

// elsewhere is the place of a request that a pool has not seen.
const elsewhere = -1

// newRequestLog returns the log that s asks for, or nil.
func newRequestLog(s *configs.Scenario) *requestLog {
	l := &requestLog{classes: s.Workload.Classes, limit: autoRows}
	switch s.Output.RequestsCSV {
	case configs.Off:
		return nil
	case configs.On:
		l.limit = 0
	}
	return l
}

// routing is the router of one pool.
type routing struct {
	log    *requestLog
	pool   int
	routed sim.Router
}

// watch makes l hear of the routing of a run.
func (l *requestLog) watch(c *sim.Config) {
	l.pools, l.routes, l.ingress, l.egress = c.Pools, c.Routes, c.Ingress, c.Egress
	l.places = make([][]int32, len(c.Pools))
	for i, p := range c.Pools {
		p.Router = &routing{l, i, p.Router}
	}
	if l.routes == nil {
		l.routes = []sim.Route{{{Pool: 0}}}
	}
}

// Route implements sim.Router.
func (x *routing) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	in := x.routed.Route(now, r, pool)
	if l := x.log; !l.over {
		places := &l.places[x.pool]
		for int(r.ID) >= len(*places) {
			*places = append(*places, elsewhere)
		}
		(*places)[r.ID] = in.ID - pool.Replica(0).ID
	}
	return in
}

// place returns the instance of a pool that a request was routed to last.
func (l *requestLog) place(pool int, id int32) int32 {
	if int(id) < len(l.places[pool]) {
		return l.places[pool][id]
	}
	return elsewhere
}

func (l *requestLog) add(r *sim.Request, at sim.Time, o sim.Outcome) {
	if l.over {
		return
	}
	if l.limit > 0 && len(l.rows) == l.limit {
		l.over, l.rows, l.places = true, nil, nil
		return
	}
	route := l.routes[r.Route]
	last := route[r.Stage].Pool
	row := report.RequestRow{
		ID: r.ID, Arrival: r.Arrival, PromptTokens: r.Prompt, OutputTokens: r.Emitted, CachedTokens: r.Cached, Preemptions: r.Preemptions,
		TTFT: report.Unknown, TPOT: report.Unknown, E2E: report.Unknown, Queue: report.Unknown, Pool: l.pools[last].Name, Outcome: o.String(),
	}
	if o != sim.Rejected {
		row.Instance = max(0, l.place(last, r.ID))
	}
	if len(l.pools) > 1 {
		row.Way = l.way(r, route)
	}
	if len(l.classes) > 0 {
		row.Class = l.classes[r.Class].Name
	}
	if r.Emitted > 0 {
		row.TTFT = r.First.Sub(r.Arrival) + l.egress
	}
	if r.Admitted > 0 || r.Emitted > 0 || r.Preemptions > 0 {
		row.Queue = r.Admitted.Sub(r.Arrival) - l.ingress
	}
	if o == sim.Completed {
		row.E2E = at.Sub(r.Arrival) + l.egress
		if r.Emitted > 1 {
			row.TPOT = at.Sub(r.First) / sim.Duration(r.Emitted-1)
		}
	}
	l.rows = append(l.rows, row)
}

// way names the instances that served r, in order of its stages; of a request that reached none, the pool where it would
// have begun.
func (l *requestLog) way(r *sim.Request, route sim.Route) string {
	text := ""
	for _, stage := range route[:r.Stage+1] {
		place := l.place(stage.Pool, r.ID)
		if place == elsewhere {
			continue
		}
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("%s/%d", l.pools[stage.Pool].Name, place)
	}
	return cmp.Or(text, l.pools[route[0].Pool].Name)
}

// sorted returns the rows in order of arrival.
func (l *requestLog) sorted() []report.RequestRow {
	slices.SortFunc(l.rows, func(a, b report.RequestRow) int { return cmp.Compare(a.ID, b.ID) })
	return l.rows
}
