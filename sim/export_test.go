package sim

import "fmt"

// SetWindow has c read so many requests ahead of its instances, if they are simulated by themselves.
func SetWindow(c *Cluster, requests int) { c.window = requests }

// CheckCaches reports, after a run that served everything, what an instance's prefix cache has kept or lost.
func CheckCaches(c *Cluster) error {
	for in := range built(c.instances) {
		if err := in.cache.Check(); err != nil {
			return fmt.Errorf("instance %d: %w", in.ID, err)
		}
	}
	return nil
}

// CheckSets reports, after a run that served everything, what an instance's batch has kept of its members.
func CheckSets(c *Cluster) error {
	for in := range built(c.instances) {
		b := &in.batch
		if !b.set.Empty() || b.n != 0 || b.remaining != 0 || len(b.long)+len(b.traced) != 0 {
			return fmt.Errorf("instance %d: %d sequences in the decode set, %d in the batch, %d remaining tokens",
				in.ID, b.set.Len(), b.n, b.remaining)
		}
	}
	return nil
}

// Unasked returns how many instances that take requests were never asked for.
func Unasked(p *Pool) int { return p.unasked }
