package kv

import "fmt"

// Check reports what prefix caching has kept or lost of a cache that no sequence uses: every block must be free, in one
// extent that is in the order of eviction.
func (k *Cache) Check() error {
	if k.radix != nil {
		return k.radix.check(k)
	}
	p := k.prefix
	if p == nil {
		return nil
	}
	linked, free := 0, int64(0)
	for i := p.at[0].newer; i != 0; i = p.at[i].newer {
		x := &p.at[i]
		if x.refs != 0 || x.len() < 1 || x.node < 0 || p.at[x.newer].older != i {
			return fmt.Errorf("extent %d is %+v", i, *x)
		}
		free += int64(x.len())
		linked++
	}
	switch {
	case free != k.free || free != k.total:
		return fmt.Errorf("%d blocks in the order of eviction, %d free, %d in all", free, k.free, k.total)
	case linked != len(p.at)-1-len(p.extents.unused):
		return fmt.Errorf("%d extents in the order of eviction, %d in use", linked, len(p.at)-1-len(p.extents.unused))
	case len(p.unused) != len(p.references)-1:
		return fmt.Errorf("%d of %d references are in use", len(p.references)-1-len(p.unused), len(p.references)-1)
	}
	return nil
}

// check is Check for a radix tree: each node must be one that no sequence has.
func (p *radix) check(k *Cache) error {
	linked, free := 0, int64(0)
	for i := p.at[0].newer; i != 0; i = p.at[i].newer {
		x := &p.at[i]
		if x.refs != 0 || x.len() < 1 || p.at[x.newer].older != i || p.at[x.newer].walk < x.walk && x.newer != 0 {
			return fmt.Errorf("node %d is %+v", i, *x)
		}
		free += int64(x.len())
		linked++
	}
	switch {
	case p.locked != 0 || free != p.evictable || free > k.free || k.free != k.total:
		return fmt.Errorf("%d blocks in the order of eviction, %d locked, %d free, %d in all", free, p.locked, k.free,
			k.total)
	case linked != len(p.at)-1-len(p.unused):
		return fmt.Errorf("%d nodes in the order of eviction, %d in use", linked, len(p.at)-1-len(p.unused))
	}
	return nil
}
