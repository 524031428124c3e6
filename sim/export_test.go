package sim

import "fmt"

// CheckCaches reports, after a run that served everything, whatever an instance's prefix cache has kept or lost.
func CheckCaches(c *Cluster) error {
	for _, in := range c.instances {
		p := in.prefix
		if p == nil {
			continue
		}
		var free int64
		linked := 0
		for i := p.at[0].newer; i != 0; i = p.at[i].newer {
			x := &p.at[i]
			if x.refs != 0 || x.len() < 1 || x.node < 0 || p.at[x.newer].older != i {
				return fmt.Errorf("instance %d: extent %d is %+v", in.ID, i, *x)
			}
			free += int64(x.len())
			linked++
		}
		switch {
		case free != in.kv.free || free != in.kv.total:
			return fmt.Errorf("instance %d: %d blocks in the order of eviction, %d free, %d in all", in.ID, free, in.kv.free, in.kv.total)
		case linked != len(p.at)-1-len(p.spare):
			return fmt.Errorf("instance %d: %d extents in the order of eviction, %d in use", in.ID, linked, len(p.at)-1-len(p.spare))
		case len(p.spares) != len(p.pieces)-1:
			return fmt.Errorf("instance %d: %d of %d pieces are held", in.ID, len(p.pieces)-1-len(p.spares), len(p.pieces)-1)
		}
	}
	return nil
}

// CheckSets reports, after a run that served everything, what an instance's decode set has kept of its members.
func CheckSets(c *Cluster) error {
	for _, in := range c.instances {
		s := &in.set
		if s.n != 0 || s.paged != 0 || s.ctx != 0 || in.owed != 0 || s.ends.sum != 0 || len(in.long)+len(in.traced) != 0 {
			return fmt.Errorf("instance %d: %d sequences, %d of them paged, %d tokens, %d owed, %d ends", in.ID, s.n, s.paged, s.ctx, in.owed, s.ends.sum)
		}
		for _, due := range s.due {
			if due != 0 {
				return fmt.Errorf("instance %d: blocks are due: %v", in.ID, s.due)
			}
		}
		for i := range s.windows {
			if w := &s.windows[i]; w.ctx != 0 || w.growing != 0 || w.turns.sum != 0 {
				return fmt.Errorf("instance %d: window %d sees %d tokens, %d grow", in.ID, w.Tokens, w.ctx, w.growing)
			}
		}
	}
	return nil
}
