package build

import "github.com/decodesim/decodesim/configs"

// Pattern returns s as the pattern of other deployments: what its model has no use for is off, unless somebody asked
// for it. Resolved scenarios say every value, and a default that the model refuses would be refused as if it were
// meant.
func Pattern(s *configs.Scenario) (*configs.Scenario, error) {
	m, err := ModelOf(s)
	if err != nil {
		return nil, err
	}
	p := s.Clone()
	for i := range p.Pools {
		pool := &p.Pools[i]
		if m.RecurrentBytes() > 0 && !s.Given(s.PoolPath(pool, "enable_prefix_caching")) {
			pool.EnablePrefixCaching = false
		}
	}
	return p, nil
}
