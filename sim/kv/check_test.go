package kv

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestACheckFails where anything is amiss of a radix tree with nodes of two blocks and of one, and of extents of two
// blocks and of eight.
func TestACheckFails(t *testing.T) {
	tree := func() *Cache {
		return &Cache{total: 10, free: 10, radix: &radix{evictable: 3, at: []radixNode{
			{newer: 1, older: 2}, {to: 2, newer: 2, walk: 1}, {from: 2, to: 3, older: 1, walk: 2}}}}
	}
	require.NoError(t, tree().Check())
	for name, spoil := range map[string]func(k *Cache, p *radix){
		"a sequence has a node":      func(_ *Cache, p *radix) { p.at[1].refs = 1 },
		"a node without blocks":      func(_ *Cache, p *radix) { p.at[1].to, p.evictable = 0, 1 },
		"a neighbour of another":     func(_ *Cache, p *radix) { p.at[2].older = 0 },
		"the last of another":        func(_ *Cache, p *radix) { p.at[0].older = 1 },
		"walked over later":          func(_ *Cache, p *radix) { p.at[1].walk = 3 },
		"a lock":                     func(_ *Cache, p *radix) { p.locked = 1 },
		"more to evict":              func(_ *Cache, p *radix) { p.evictable = 4 },
		"a block that is not free":   func(k *Cache, _ *radix) { k.free = 9 },
		"fewer blocks than in nodes": func(k *Cache, _ *radix) { k.free, k.total = 2, 2 },
		"a node that is not listed":  func(_ *Cache, p *radix) { p.at = append(p.at, radixNode{}) },
		"a node that is not used":    func(_ *Cache, p *radix) { p.unused = []int32{1} },
	} {
		k := tree()
		spoil(k, k.radix)
		require.Error(t, k.Check(), name)
	}
	blocks := func() *Cache {
		p := &prefixes{references: make([]reference, 1)}
		p.at = []extent{{newer: 1, older: 2}, {to: 2, newer: 2}, {from: 2, to: 10, older: 1}}
		return &Cache{total: 10, free: 10, prefix: p}
	}
	require.NoError(t, blocks().Check())
	for name, spoil := range map[string]func(k *Cache, p *prefixes){
		"a sequence has an extent":   func(_ *Cache, p *prefixes) { p.at[1].refs = 1 },
		"an extent without blocks":   func(k *Cache, p *prefixes) { p.at[1].to, k.free, k.total = 0, 8, 8 },
		"an extent of a request":     func(_ *Cache, p *prefixes) { p.at[1].node = -1 },
		"a neighbour of another":     func(_ *Cache, p *prefixes) { p.at[2].older = 0 },
		"a block that is not free":   func(k *Cache, _ *prefixes) { k.free = 9 },
		"a block too many":           func(k *Cache, _ *prefixes) { k.total = 11 },
		"an extent that is not used": func(_ *Cache, p *prefixes) { p.extents.unused = []int32{1} },
		"a reference in use":         func(_ *Cache, p *prefixes) { p.references = make([]reference, 2) },
	} {
		k := blocks()
		spoil(k, k.prefix)
		require.Error(t, k.Check(), name)
	}
	require.NoError(t, new(Cache).Check(), "nothing is cached")
}
