package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
)

// prefixCaching settles whether the replicas of a pool find equal prompt beginnings in their cache again. A recurrent
// state would have to be kept for every block at which a prompt may be taken up; no such cache is modelled, and vLLM
// leaves it off for these models unless asked (unverified).
func prefixCaching(s *configs.Scenario, r *Replica, p *configs.Pool) (bool, error) {
	if !p.EnablePrefixCaching || r.Deployment.Model.RecurrentBytes() == 0 {
		return p.EnablePrefixCaching, nil
	}
	if path := s.PoolPath(p, "enable_prefix_caching"); s.Given(path) {
		return false, s.Errorf(path,
			"true, but %s keeps a recurrent state, which this version does not find again; accepted: false",
			r.Deployment.Model.Name)
	}
	return false, nil
}

// contents returns the tree of what the requests share; nil: nothing.
func (b *Built) contents() *sim.Contents {
	if t, ok := b.requests.(interface{ Contents() *sim.Contents }); ok {
		return t.Contents()
	}
	return nil
}
