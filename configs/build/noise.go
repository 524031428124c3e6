package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/sim"
)

// newNoise returns what lengthens the steps of a run; nil: nothing.
func newNoise(s *configs.Scenario) (sim.Noise, error) {
	n := s.Noise
	if n == nil || n.Jitter == 0 && n.NeighbourShare == 0 {
		return nil, nil
	}
	made, err := fleet.NewNoise(fleet.Noise{
		Jitter: n.Jitter, NeighbourShare: n.NeighbourShare, NeighbourSlowdown: n.NeighbourSlowdown,
		Period: sim.Seconds(n.NeighbourPeriodS),
	}, s.Seed)
	if err != nil {
		return nil, s.Errorf("noise", "%s", strict.Message(err))
	}
	return made, nil
}
