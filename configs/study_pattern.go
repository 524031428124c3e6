package configs

// Pattern returns s as the pattern of other deployments: what its model has no use for is off, unless somebody asked for it.
// Resolved scenarios say every value, and a default that the model refuses would be refused as if it were meant.
func (s *Scenario) Pattern() (*Scenario, error) {
	m, err := s.model()
	if err != nil {
		return nil, err
	}
	p := s.clone()
	for i := range p.Pools {
		pool := &p.Pools[i]
		if m.StateBytes() > 0 && !s.origins.given(s.path(pool, "enable_prefix_caching")) {
			pool.EnablePrefixCaching = false
		}
	}
	return p, nil
}
