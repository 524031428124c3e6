package build

import (
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// fleet makes what goes by what requests share, or by all pools: routers, admission and controllers.
func (b *Built) fleet() error {
	if err := b.routers(); err != nil {
		return err
	}
	if err := b.admission(); err != nil {
		return err
	}
	return b.controllers()
}

// routers gives each pool one of its own, for most remember what they have done.
func (b *Built) routers() error {
	s := b.Scenario
	a := routers.DefaultArguments()
	a.Staleness, a.Contents = sim.Seconds(s.Routing.StalenessS), b.Config.Contents
	a.Weights = routers.Weights(s.Routing.Weights)
	for i := range s.Pools {
		path, name := "router", s.Router
		if own := s.Pools[i].Router; own != "" {
			path, name = s.PoolPath(&s.Pools[i], "router"), own
		}
		a.Seed = s.Seed + uint64(i)<<32 // or two pools would draw the same
		router, err := routers.New(name, a)
		if err != nil {
			return s.Errorf(path, "%s", strict.Message(err))
		}
		b.Config.Pools[i].Router = router
	}
	return nil
}

// admission says who may enter the run.
func (b *Built) admission() (err error) {
	a := b.Scenario.Admission
	if a == nil {
		return nil
	}
	b.Config.Admission, err = fleet.NewAdmission(fleet.AdmissionArguments{
		Entries: b.entries(), Rate: a.RatePerS, Burst: a.Burst, TokenRate: a.TokensPerS, TokenBurst: a.TokenBurst,
		QueueLimit: a.QueueLimit, ShedLimit: a.ShedLimit, ShedAbove: int8(a.ShedPriorityAbove),
	})
	if err != nil {
		return b.Scenario.Errorf("admission", "%s", strict.Message(err))
	}
	return nil
}

// noisy returns what lengthens the steps of the i-th pool; nil: nothing.
func (b *Built) noisy(i int) (sim.Noise, error) {
	s, p := b.Scenario, &b.Scenario.Pools[i]
	noise, err := newNoise(s)
	if err != nil || p.StragglerReplicas == 0 {
		return noise, err
	}
	first := 0 // ID of the pool's first replica
	for j := range i {
		first += s.Pools[j].ReplicasLimit()
	}
	var slow []int32
	for j := range p.StragglerReplicas {
		slow = append(slow, int32(first+j))
	}
	straggler, err := fleet.NewStraggler(slow, p.StragglerSlowdown, noise)
	if err != nil {
		return nil, s.Errorf(s.PoolPath(p, "straggler_slowdown"), "%s", strict.Message(err))
	}
	return straggler, nil
}
