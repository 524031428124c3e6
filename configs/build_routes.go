package configs

import (
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// routes makes the ways of requests through the pools, and who chooses among them: through a serve pool alone, from a prefill
// pool to the decode pool or, for short prompts, through the decode pool alone; all of them behind the encode pool, if
// there is one.
func (b *Built) routes() error {
	s := b.Scenario
	for _, i := range s.poolsOf(roleServe) {
		b.Config.Routes = append(b.Config.Routes, sim.Route{{Pool: i}})
	}
	for _, from := range s.poolsOf(rolePrefill) {
		for _, to := range s.poolsOf(roleDecode) {
			route, err := b.handedOver(from, to)
			if err != nil {
				return err
			}
			b.Config.Routes = append(b.Config.Routes, route)
		}
	}
	if s.localBelow() > 0 {
		b.Config.Routes = append(b.Config.Routes, sim.Route{{Pool: s.poolsOf(roleDecode)[0]}})
	}
	for _, encoder := range s.poolsOf(roleEncode) {
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

// handedOver returns the route from a prefill pool to a decode pool.
func (b *Built) handedOver(from, to int) (sim.Route, error) {
	p := &b.Scenario.Pools[from]
	link, err := b.link(from, to)
	first := sim.Stage{Pool: from, Cache: true, Push: p.KVTransfer == transferPush, Link: link}
	if p.FirstToken == firstAtPrefill {
		first.Tokens = 1
	}
	return sim.Route{first, {Pool: to}}, err
}

// entries returns the pool in which the requests of each route wait first: that which reserves room for them, if it does
// so before they are read.
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
	case s.localBelow() > 0:
		name = "prompt"
		a.Prompt = routers.ByPrompt{LocalBelow: int32(s.localBelow()), Pool: s.poolsOf(roleDecode)[0], Local: len(b.Config.Routes) - 1}
	case s.serveShare() > 0:
		name, a.Weights = "share", b.shares()
	}
	if b.Config.Splitter, err = routers.NewSplitter(name, a); err != nil {
		return s.origins.errorf("disaggregation", "%s", strict.Message(err))
	}
	return nil
}

// shares returns the share of the requests on each route: those of serve pools divide serve_share by their replicas, the
// others the rest.
func (b *Built) shares() []float64 {
	s, replicas := b.Scenario, map[bool]int{}
	serves := func(route sim.Route) bool { return s.Pools[route[0].Pool].Role == roleServe }
	for _, route := range b.Config.Routes {
		replicas[serves(route)] += s.Pools[route[0].Pool].Replicas
	}
	var weights []float64
	for _, route := range b.Config.Routes {
		share := s.serveShare()
		if !serves(route) {
			share = 1 - share
		}
		weights = append(weights, share*float64(s.Pools[route[0].Pool].Replicas)/float64(replicas[serves(route)]))
	}
	return weights
}

func (s *Scenario) localBelow() int {
	if s.Disaggregation == nil {
		return 0
	}
	return s.Disaggregation.LocalBelowTokens
}

func (s *Scenario) serveShare() float64 {
	if s.Disaggregation == nil {
		return 0
	}
	return s.Disaggregation.ServeShare
}
