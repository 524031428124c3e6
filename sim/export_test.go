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

// CheckSets reports, after a run that served everything, what an instance has kept of requests: in its batches, in
// host memory, or on their way.
func CheckSets(c *Cluster) error {
	for in := range built(c.instances) {
		for _, one := range in.batches() {
			b := &one.batch
			lists := len(b.long) + len(b.traced) + len(b.prefill) + len(b.finished) + len(b.ended) + len(b.deferred) +
				len(b.cancelled) + len(b.astray)
			if !b.set.Empty() || b.n != 0 || b.remaining != 0 || lists != 0 {
				return fmt.Errorf("instance %d: %d sequences in the decode set, %d in the batch, %d in lists of it, %d remaining "+
					"tokens", in.ID, b.set.Len(), b.n, lists, b.remaining)
			}
		}
		t := &in.transfers
		if in.swap.free != in.pool.SwapBlocks || t.outside()+len(t.awaiting)+len(t.ahead)+len(t.sent)+t.cacheless != 0 ||
			t.lacking != 0 || t.staying != (staying{}) {
			return fmt.Errorf("instance %d: %d blocks of host memory are free, and transfers are %+v", in.ID, in.swap.free, *t)
		}
	}
	return nil
}

// Unasked returns how many instances that take requests were never asked for.
func Unasked(p *Pool) int { return p.unasked }

// Separated reports whether the instances of c, which has run, were simulated by themselves.
func Separated(c *Cluster) bool { return c.parts != nil }
