package live

import (
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/sim"
)

// Command changes the fleet, as the sections failures, drain and autoscale of a scenario do at instants known before.
type Command struct {
	Do       string  `json:"do"` // fail, drain or scale
	Pool     string  `json:"pool"`
	Replica  int     `json:"replica"`   // to fail or drain, from 0
	DownS    float64 `json:"down_s"`    // until the cold start of another; 0: none comes
	InFlight string  `json:"in_flight"` // what becomes of the requests of one that fails: retry (also ""), or fail
	Replicas int     `json:"replicas"`  // to scale to
}

// pending is a command that has more to do at an instant.
type pending struct {
	at sim.Time
	sim.Controller
}

// Command has the fleet changed at an instant or as soon after it as is possible, and returns that instant. The
// scenario that replays the run says the same of it. A command before the first request is carried out when that comes,
// with which the clock begins.
func (f *Fleet) Command(at sim.Time, c Command) (sim.Time, error) {
	pool := slices.IndexFunc(f.built.Scenario.Pools, func(p configs.Pool) bool { return p.Name == c.Pool })
	if c.Pool == "" && len(f.built.Scenario.Pools) == 1 {
		pool = 0
	}
	if pool < 0 {
		return 0, fmt.Errorf("pool %q is unknown; valid names: %s", c.Pool, f.poolNames())
	}
	if !(c.DownS >= 0 && c.DownS <= sim.HorizonS) {
		return 0, fmt.Errorf("down_s is %g; expected seconds from 0 to %g", c.DownS, sim.HorizonS)
	}
	// Scenarios have seconds as floating-point numbers: at is one that is written and read back as it is.
	atS := math.Ceil(float64(f.next(at))/1e6) / 1e6
	at = sim.Time(0).Add(sim.Seconds(atS))
	made, err := f.controller(c, pool, atS)
	if err != nil {
		return 0, err
	}
	f.schedule(pending{at, made})
	return at, nil
}

func (f *Fleet) poolNames() (names string) {
	for i, p := range f.built.Scenario.Pools {
		if i > 0 {
			names += ", "
		}
		names += p.Name
	}
	return names
}

// controller returns what carries c out, and notes it in the scenario.
func (f *Fleet) controller(c Command, pool int, atS float64) (made sim.Controller, err error) {
	s, p := f.built.Scenario, &f.built.Scenario.Pools[pool]
	at, most := sim.Time(0).Add(sim.Seconds(atS)), make([]int, len(s.Pools))
	for i := range most {
		most[i] = f.run.Cluster.Pool(i).Replicas()
	}
	down := sim.Duration(-1)
	if c.DownS > 0 {
		down = sim.Seconds(c.DownS)
	}
	switch c.Do {
	case "fail":
		row := configs.Failure{Pool: p.Name, Replica: c.Replica, AtS: atS, DownS: c.DownS, InFlight: c.InFlight}
		if row.InFlight == "" {
			row.InFlight = configs.InFlightRetry
		}
		if row.InFlight != configs.InFlightRetry && row.InFlight != "fail" {
			return nil, fmt.Errorf("in_flight is %q; expected retry or fail", c.InFlight)
		}
		made, err = fleet.NewFailures([]fleet.Failure{{Pool: pool, Instance: c.Replica, At: at, Down: down,
			Retry: row.InFlight == configs.InFlightRetry}}, most)
		if err == nil {
			s.Failures = append(s.Failures, row)
		}
	case "drain":
		made, err = fleet.NewDrains([]fleet.Drain{{Pool: pool, Instance: c.Replica, At: at, Down: down}}, most)
		if err == nil {
			s.Drain = append(s.Drain, configs.Drain{Pool: p.Name, Replica: c.Replica, AtS: atS, DownS: c.DownS})
		}
	case "scale":
		return f.scale(c.Replicas, pool, atS)
	default:
		return nil, fmt.Errorf("do is %q; expected fail, drain or scale", c.Do)
	}
	return made, err
}

// scaleIntervalS is how often a schedule of sizes is looked at beside its own instants: never.
const scaleIntervalS = sim.HorizonS

// scale returns what gives a pool another number of replicas, and adds it to the schedule of the pool.
func (f *Fleet) scale(replicas, pool int, atS float64) (sim.Controller, error) {
	s, p := f.built.Scenario, &f.built.Scenario.Pools[pool]
	most := f.run.Cluster.Pool(pool).Replicas()
	if replicas < 1 || replicas > most {
		return nil, fmt.Errorf("replicas is %d; expected 1 to %d, the replicas_max of pool %s", replicas, most, p.Name)
	}
	i := slices.IndexFunc(s.Autoscale, func(a configs.Autoscale) bool { return a.Pool == p.Name })
	if i >= 0 && s.Autoscale[i].On != "schedule" {
		return nil, fmt.Errorf("pool %s is scaled by the scenario, on %s; expected a pool without autoscale", p.Name,
			s.Autoscale[i].On)
	}
	at := sim.Time(0).Add(sim.Seconds(atS))
	made, err := fleet.NewAutoscale(fleet.AutoscaleArguments{
		Pool: pool, On: "schedule", Min: 1, Max: most, Interval: sim.Seconds(scaleIntervalS),
		Schedule: []fleet.ScheduledSize{{At: at, Replicas: replicas}},
	}, most)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		i = len(s.Autoscale)
		s.Autoscale = append(s.Autoscale, configs.Autoscale{Pool: p.Name, On: "schedule", MinReplicas: 1,
			IntervalS: scaleIntervalS, Schedule: []configs.ScheduledSize{{AtS: 0, Replicas: p.Replicas}}})
	}
	rows := &s.Autoscale[i].Schedule
	if n := len(*rows); (*rows)[n-1].AtS == atS {
		(*rows)[n-1].Replicas = replicas
	} else {
		*rows = append(*rows, configs.ScheduledSize{AtS: atS, Replicas: replicas})
	}
	return made, nil
}

// schedule adds p to what is pending, behind what is due at the same instant.
func (f *Fleet) schedule(p pending) {
	i := len(f.pending)
	for i > 0 && f.pending[i-1].at > p.at {
		i--
	}
	f.pending = slices.Insert(f.pending, i, p)
}

// act carries out the first command that is pending.
func (f *Fleet) act() {
	p := f.pending[0]
	f.pending = f.pending[1:]
	c := f.run.Cluster
	do := func() { p.at = p.Control(p.at, c) }
	if p.at == c.Now() && f.Now() > 0 {
		do() // another command was carried out at this instant, and nothing has happened since
	} else {
		c.Act(p.at, do)
	}
	if p.at < sim.Forever {
		f.schedule(p)
	}
}
