package build

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// efficiencyOf returns what the pool's file or name says, or else the engine's, with the scenario's own constants in
// place of theirs; and why to doubt it, if there is a reason. A file is the user's own, who knows best.
func efficiencyOf(s *configs.Scenario, p *configs.Pool, d *hardware.Deployment) (e hardware.Efficiency, notes []string,
	err error) {
	name, of, err := efficiencyName(s, p, &d.GPU)
	if err != nil {
		return e, nil, err
	}
	path := s.PoolPath(p, "efficiency")
	all, err := catalog.EfficienciesAt(name)
	if err != nil {
		return e, nil, s.Errorf(path, "%s", strict.Message(err))
	}
	e, measured := all.On(&d.GPU, &d.Model)
	switch {
	case measured || catalog.IsEfficiencyPath(name):
	case len(all.GPUs) > 0:
		notes = append(notes, fmt.Sprintf("no measurement of %s went into the %s: they are those of %s", d.GPU.Name, of,
			all.StandIn(&d.GPU)))
	case strings.HasPrefix(e.Source, "prior"):
		notes = append(notes, fmt.Sprintf("the %s are priors, not calibrated on %s", of, d.GPU.Name))
	}
	if stands := all.Stands(name); stands != "" {
		notes = append(notes, fmt.Sprintf("the %s are those of release %s, the nearest that was measured", of, stands))
	}
	if changes := p.Efficiency.Apply(&e); len(changes) > 0 {
		notes = append(notes, fmt.Sprintf("efficiency as the scenario says: %s", strings.Join(changes, ", ")))
	}
	var wrong *hardware.RangeError
	if err := e.Validate(); errors.As(err, &wrong) {
		return e, nil, s.Errorf(path+"."+wrong.Key, "%s", wrong.Message)
	}
	return e, notes, nil
}

// efficiencyName returns the name of the efficiencies that price the pool, or a path to them, and what messages call
// them.
func efficiencyName(s *configs.Scenario, p *configs.Pool, gpu *hardware.GPU) (name, of string, err error) {
	if name := p.Efficiency.Base; name != "" {
		return name, "efficiencies " + name, nil
	}
	if gpu.Kind != "" {
		return efficiencyOfKind(gpu.Kind), "efficiencies of kind " + string(gpu.Kind), nil
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return "", "", s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
	}
	return engine.Efficiency, "efficiencies of engine " + p.Engine, nil
}

// efficiencyOfKind names what machines of a kind achieve with the software of their maker, whatever engine's rules
// schedule their requests; priors where nothing is known of it.
func efficiencyOfKind(kind hardware.Kind) string {
	if slices.Contains(catalog.EfficiencyNames(), string(kind)) {
		return string(kind)
	}
	return "prior"
}

// SetEfficiency prices every pool of the run with e instead of what the scenario says, as a fit does over and over.
func (b *Built) SetEfficiency(e hardware.Efficiency) {
	for i, r := range b.Replicas {
		r.Deployment.Efficiency = e
		r.price(&b.Scenario.Pools[i])
		b.Config.Pools[i].Model = r.Model
		if b.Scenario.Pools[i].Enters() {
			b.Config.Pools[i].Tokenize = sim.Seconds(e.TokenizeS)
		}
	}
	b.Config.Ingress = b.ingress()
	b.expect() // in how many seconds a closed loop is done follows from prices
}
