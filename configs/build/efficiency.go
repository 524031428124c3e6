package build

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// efficiencyOf returns what the pool's file or name says, or else the engine's; and why to doubt it, if there is a
// reason. A file is the user's own, who knows best.
func efficiencyOf(s *configs.Scenario, p *configs.Pool, m *llm.Model) (e hardware.Efficiency, doubt string, err error) {
	name, of := p.Efficiency, "efficiencies "+p.Efficiency
	if catalog.IsEfficiencyPath(name) {
		e, err = catalog.LoadEfficiency(name)
		if err != nil {
			err = s.Errorf(s.PoolPath(p, "efficiency"), "%s", strict.Message(err))
		}
		return e, "", err
	}
	if name == "" {
		engine, err := catalog.Engine(p.Engine)
		if err != nil {
			return e, "", s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
		}
		name, of = engine.Efficiency, "efficiencies of engine "+p.Engine
	}
	all, err := catalog.EfficienciesOf(name)
	if err != nil {
		return e, "", s.Errorf(s.PoolPath(p, "efficiency"), "%s, or a path to a file of efficiencies", strict.Message(err))
	}
	e, measured := all.For(p.GPU, m.Name, m.FFNDtype())
	switch {
	case measured:
	case len(all.GPUs) > 0:
		doubt = fmt.Sprintf("no measurement of %s went into the %s: they are those of other GPUs", p.GPU, of)
	case strings.HasPrefix(e.Source, "prior"):
		doubt = fmt.Sprintf("the %s are priors, not calibrated on %s", of, p.GPU)
	}
	return e, doubt, nil
}

// SetEfficiency prices every pool of the run with e instead of what the scenario says, as a fit does over and over.
func (b *Built) SetEfficiency(e hardware.Efficiency) {
	for i, r := range b.Replicas {
		r.Deployment.Efficiency = e
		r.price(&b.Scenario.Pools[i])
		b.Config.Pools[i].Model = r.Model
	}
	b.Config.Ingress = b.ingress()
}
