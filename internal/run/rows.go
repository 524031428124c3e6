package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
)

// Row is one request as its client saw it.
type Row struct {
	ID           int32
	Arrival      sim.Time
	PromptTokens int32
	OutputTokens int32 // emitted
	CachedTokens int32 // of the prompt
	TTFT         sim.Duration
	TPOT         sim.Duration
	E2E          sim.Duration
	Queue        sim.Duration
	Preemptions  int32
	Pool         string
	Instance     int32
	Outcome      string
	Way          string // pool/instance of each stage; empty in every row: there is one pool, and no column
	Class        string // empty in every row: there are no classes, and no column

	Session int32 // that it is a turn of, or task, from 1; 0 in every row: there are none, and no column
	Thinks  bool  // there are columns for what follows
	Hidden  int32 // tokens emitted that are reasoning
	TTFO    sim.Duration
}

// Unknown stands for a time that never came, such as the first token of a rejected request. Its cell stays empty.
const Unknown sim.Duration = -1

// autoRows is how many requests `requests_csv: auto` writes at most.
const autoRows = 100_000

// RowsOf returns the Options.Rows that a scenario asks for.
func RowsOf(s *configs.Scenario) int {
	switch s.Output.RequestsCSV {
	case configs.Off:
		return 0
	case configs.On:
		return -1
	}
	return autoRows
}

// rows makes a Row of every request that ends. In front of the router of each pool it notes the instance that a request
// was routed to.
type rows struct {
	list      []Row
	instances [][]int32 // by pool and request: the instance, counted from 0 in its pool, or notRouted
	config    *sim.Config
	routes    []sim.Route
	classes   []configs.Class
	thinks    bool
	limit     int  // negative: none
	full      bool // there were more requests than the limit: no row is kept
}

// notRouted stands for the instance of a request that no router of the pool has seen.
const notRouted = -1

// newRows puts rows in front of the routers of c; nil: none are to be kept.
func newRows(c *sim.Config, b *build.Built, limit int) *rows {
	if limit == 0 {
		return nil
	}
	x := &rows{config: c, routes: c.Routes, classes: b.Scenario.Workload.Classes, thinks: b.Thinks(), limit: limit,
		instances: make([][]int32, len(c.Pools))}
	for i, p := range c.Pools {
		p.Router = &routing{x, i, p.Router}
	}
	if x.routes == nil {
		x.routes = []sim.Route{{{Pool: 0}}}
	}
	return x
}

// routing is the router of one pool.
type routing struct {
	rows   *rows
	pool   int
	router sim.Router
}

// Route implements sim.Router.
func (x *routing) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	in := x.router.Route(now, r, pool)
	if x.rows.full {
		return in
	}
	of := &x.rows.instances[x.pool]
	for int(r.ID) >= len(*of) {
		*of = append(*of, notRouted)
	}
	(*of)[r.ID] = in.ID - pool.Replica(0).ID
	return in
}

// instance returns the instance of a pool that a request was routed to last.
func (x *rows) instance(pool int, id int32) int32 {
	if int(id) < len(x.instances[pool]) {
		return x.instances[pool][id]
	}
	return notRouted
}

// add keeps the row of a request that has ended.
func (x *rows) add(r *sim.Request, at sim.Time, o sim.Outcome) {
	if x.full {
		return
	}
	if len(x.list) == x.limit {
		x.full, x.list, x.instances = true, nil, nil
		return
	}
	x.list = append(x.list, x.row(r, at, o))
}

func (x *rows) row(r *sim.Request, at sim.Time, o sim.Outcome) Row {
	route := x.routes[r.Route]
	last := route[r.Stage].Pool
	row := Row{
		ID: r.ID, Arrival: r.Arrival, PromptTokens: r.Prompt, OutputTokens: r.Emitted, CachedTokens: r.Cached,
		Preemptions: r.Preemptions,
		TTFT:        Unknown, TPOT: Unknown, E2E: Unknown, Queue: Unknown, Pool: x.config.Pools[last].Name,
		Outcome: o.String(),
	}
	if o != sim.Rejected {
		row.Instance = max(0, x.instance(last, r.ID))
	}
	if len(x.config.Pools) > 1 {
		row.Way = x.way(r, route)
	}
	if len(x.classes) > 0 {
		row.Class = x.classes[r.Class].Name
	}
	row.Session, row.Thinks = r.Session, x.thinks
	row.Hidden, row.TTFO = min(r.Reasoning, r.Emitted), Unknown
	if r.Emitted > r.Reasoning {
		row.TTFO = max(r.First, r.Visible).Sub(r.Arrival) + x.config.Egress
	}
	if r.Emitted > 0 {
		row.TTFT = r.First.Sub(r.Arrival) + x.config.Egress
	}
	if r.Admitted > 0 || r.Emitted > 0 || r.Preemptions > 0 {
		row.Queue = r.Admitted.Sub(r.Arrival) - x.config.Ingress - r.Tokenizing
	}
	if o == sim.Completed {
		row.E2E = at.Sub(r.Arrival) + x.config.Egress
		if r.Emitted > 1 {
			row.TPOT = at.Sub(r.First) / sim.Duration(r.Emitted-1)
		}
	}
	return row
}

// way names the instances that served r, in order of its stages; of a request that reached none, the pool where it
// would have begun.
func (x *rows) way(r *sim.Request, route sim.Route) string {
	text := ""
	for _, stage := range route[:r.Stage+1] {
		instance := x.instance(stage.Pool, r.ID)
		if instance == notRouted {
			continue
		}
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("%s/%d", x.config.Pools[stage.Pool].Name, instance)
	}
	return cmp.Or(text, x.config.Pools[route[0].Pool].Name)
}

// sorted returns the rows in order of arrival; nil: there are none to be kept.
func (x *rows) sorted() []Row {
	if x == nil || x.full {
		return nil
	}
	slices.SortFunc(x.list, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Clip(x.list)
}
