package build

import (
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/sim"
)

// controllers makes what changes the fleet while it runs: at one instant what fails first, and who reacts to that last.
func (b *Built) controllers() error {
	var list []sim.Controller
	for _, some := range []func() ([]sim.Controller, error){b.failures, b.randomFailures, b.drains, b.autoscalers,
		b.roleSwitch} {
		made, err := some()
		if err != nil {
			return err
		}
		list = append(list, made...)
	}
	b.Config.Controller = fleet.NewControllers(list...)
	return nil
}

// instances returns how many replicas there may ever be of each pool.
func instances(s *configs.Scenario) (n []int) {
	for i := range s.Pools {
		n = append(n, s.Pools[i].ReplicasLimit())
	}
	return n
}

// poolNamed returns the index of the pool of that name; -1: there is none.
func poolNamed(s *configs.Scenario, name string) int {
	for i := range s.Pools {
		if s.Pools[i].Name == name {
			return i
		}
	}
	return -1
}

func (b *Built) failures() ([]sim.Controller, error) {
	s := b.Scenario
	var list []fleet.Failure
	for _, f := range s.Failures {
		list = append(list, fleet.Failure{
			Pool: poolNamed(s, f.Pool), Instance: f.Replica, At: sim.Time(0).Add(sim.Seconds(f.AtS)),
			Retry: f.InFlight == configs.InFlightRetry,
			Down:  after(f.DownS),
		})
	}
	if list == nil {
		return nil, nil
	}
	made, err := fleet.NewFailures(list, instances(s))
	if err != nil {
		return nil, s.Errorf("failures", "%s", strict.Message(err))
	}
	return []sim.Controller{made}, nil
}

// after returns how long it takes until another replica comes; negative: none does, for nobody said when.
func after(seconds float64) sim.Duration {
	if seconds == 0 {
		return -1
	}
	return sim.Seconds(seconds)
}

func (b *Built) randomFailures() (list []sim.Controller, err error) {
	s := b.Scenario
	for i, f := range s.RandomFailures {
		first := 0
		if p := &s.Pools[poolNamed(s, f.Pool)]; f.Spot {
			first = p.Replicas - p.SpotReplicas
		}
		made, err := fleet.NewRandomFailures(fleet.RandomFailureArguments{
			Pool: poolNamed(s, f.Pool), MTBF: sim.Seconds(f.MTBFS), MTTR: sim.Seconds(f.MTTRS),
			Retry: f.InFlight == configs.InFlightRetry, Seed: s.Seed, First: first,
		})
		if err != nil {
			return nil, s.Errorf(fmt.Sprintf("random_failures[%d]", i), "%s", strict.Message(err))
		}
		list = append(list, made)
	}
	return list, nil
}

func (b *Built) drains() ([]sim.Controller, error) {
	s := b.Scenario
	var list []fleet.Drain
	for _, d := range s.Drain {
		list = append(list, fleet.Drain{
			Pool: poolNamed(s, d.Pool), Instance: d.Replica, At: sim.Time(0).Add(sim.Seconds(d.AtS)),
			Down: after(d.DownS),
		})
	}
	if list == nil {
		return nil, nil
	}
	made, err := fleet.NewDrains(list, instances(s))
	if err != nil {
		return nil, s.Errorf("drain", "%s", strict.Message(err))
	}
	return []sim.Controller{made}, nil
}

func (b *Built) autoscalers() (list []sim.Controller, err error) {
	s := b.Scenario
	for i := range s.Autoscale {
		a := &s.Autoscale[i]
		pool := poolNamed(s, a.Pool)
		most := s.Pools[pool].ReplicasLimit()
		made := fleet.AutoscaleArguments{
			Pool: pool, On: a.On, Target: a.Target, Low: a.Low, Min: a.MinReplicas, Max: most,
			Interval:  sim.Seconds(a.IntervalS),
			Provision: sim.Seconds(a.ProvisionS), Stabilisation: sim.Seconds(a.StabilisationS),
		}
		for _, row := range a.Schedule {
			made.Schedule = append(made.Schedule,
				fleet.ScheduledSize{At: sim.Time(0).Add(sim.Seconds(row.AtS)), Replicas: row.Replicas})
		}
		controller, err := fleet.NewAutoscale(made, most)
		if err != nil {
			return nil, s.Errorf(fmt.Sprintf("autoscale[%d]", i), "%s", strict.Message(err))
		}
		if a.On == configs.OnTTFT {
			b.Config.Pools[pool].FirstTokenDue = milliseconds(s.SLO.TTFTMS)
		}
		list = append(list, controller)
	}
	return list, nil
}

func (b *Built) roleSwitch() ([]sim.Controller, error) {
	s, w := b.Scenario, b.Scenario.RoleSwitch
	if w == nil {
		return nil, nil
	}
	made, err := fleet.NewRoleSwitch(fleet.RoleSwitchArguments{
		Prefill: s.PoolsOf(configs.RolePrefill)[0], Decode: s.PoolsOf(configs.RoleDecode)[0],
		Interval: sim.Seconds(w.IntervalS), Delay: sim.Seconds(w.DelayS),
		Queue: w.Queue, High: w.High, Low: w.Low,
	})
	if err != nil {
		return nil, s.Errorf("role_switch", "%s", strict.Message(err))
	}
	return []sim.Controller{made}, nil
}
