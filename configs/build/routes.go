package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// routes makes the ways of requests through the pools, and who chooses among them: through a serve pool alone, from a
// prefill pool to the decode pool or, for short prompts, through the decode pool alone; all of them behind the encode
// pool, if there is one.
func (b *Built) routes() error {
	s := b.Scenario
	for _, i := range s.PoolsOf(configs.RoleServe) {
		b.Config.Routes = append(b.Config.Routes, sim.Route{{Pool: i}})
	}
	for _, from := range s.PoolsOf(configs.RolePrefill) {
		for _, to := range s.PoolsOf(configs.RoleDecode) {
			route, err := b.transferRoute(from, to)
			if err != nil {
				return err
			}
			b.Config.Routes = append(b.Config.Routes, route)
		}
	}
	if localBelow(s) > 0 {
		b.Config.Routes = append(b.Config.Routes, sim.Route{{Pool: s.PoolsOf(configs.RoleDecode)[0]}})
	}
	for _, encoder := range s.PoolsOf(configs.RoleEncode) {
		for i, route := range b.Config.Routes {
			link, err := b.link(encoder, route[0].Pool)
			if err != nil {
				return err
			}
			b.Config.Routes[i] = append(sim.Route{{Pool: encoder, Link: link}}, route...)
		}
	}
	return b.split()
}

// transferRoute returns the route from a prefill pool to a decode pool.
func (b *Built) transferRoute(from, to int) (sim.Route, error) {
	p := &b.Scenario.Pools[from]
	link, err := b.link(from, to)
	first := sim.Stage{Pool: from, Cache: true, Push: p.KVTransfer == configs.TransferPush, Link: link}
	if p.FirstToken == configs.FirstAtPrefill {
		first.Tokens = 1
	}
	return sim.Route{first, {Pool: to}}, err
}

// entries returns the pool in which the requests of each route wait first: that which reserves room for them, if it
// does so before they are read.
func (b *Built) entries() (entries []int) {
	for _, route := range b.Config.Routes {
		first := route[0].Pool
		if route[0].Push {
			first = route[1].Pool
		}
		entries = append(entries, first)
	}
	return entries
}

// split says who chooses among several routes.
func (b *Built) split() (err error) {
	s := b.Scenario
	if len(b.Config.Routes) < 2 {
		return nil
	}
	name, a := "least-loaded", routers.SplitterArguments{Seed: s.Seed, Entries: b.entries()}
	switch {
	case localBelow(s) > 0:
		name = "prompt"
		a.Prompt = routers.ByPrompt{LocalBelow: int32(localBelow(s)), Pool: s.PoolsOf(configs.RoleDecode)[0],
			Local: len(b.Config.Routes) - 1}
	case serveShare(s) > 0:
		name, a.Weights = "share", b.shares()
	}
	b.Config.Splitter, err = routers.NewSplitter(name, a)
	if err != nil {
		return s.Errorf("disaggregation", "%s", strict.Message(err))
	}
	return nil
}

// shares returns the share of the requests on each route: those of serve pools divide serve_share by their replicas,
// the others the rest.
func (b *Built) shares() []float64 {
	s, replicas := b.Scenario, map[bool]int{}
	serves := func(route sim.Route) bool { return s.Pools[route[0].Pool].Role == configs.RoleServe }
	for _, route := range b.Config.Routes {
		replicas[serves(route)] += s.Pools[route[0].Pool].Replicas
	}
	var weights []float64
	for _, route := range b.Config.Routes {
		share := serveShare(s)
		if !serves(route) {
			share = 1 - share
		}
		weights = append(weights, share*float64(s.Pools[route[0].Pool].Replicas)/float64(replicas[serves(route)]))
	}
	return weights
}

func localBelow(s *configs.Scenario) int {
	if s.Disaggregation == nil {
		return 0
	}
	return s.Disaggregation.LocalBelowTokens
}

func serveShare(s *configs.Scenario) float64 {
	if s.Disaggregation == nil {
		return 0
	}
	return s.Disaggregation.ServeShare
}
