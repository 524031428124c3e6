package vllmargs

import (
	"slices"
	"strconv"
)

// SGLang keeps cached prefixes in host memory too if --enable-hierarchical-cache says so: as many gigabytes as
// --hicache-size says or, without it or with 0, a multiple of the cache on the GPU (as of SGLang 0.5, unverified).

// hostCacheSize takes note of the size, which counts once the switch is known.
func hostCacheSize(d *draft, g *given) error {
	if x, err := strconv.ParseFloat(g.value(), 64); err == nil && x == 0 {
		d.idle(g, "as without it")
		return nil
	}
	_, err := g.positive(1 << 20)
	d.hostSize = g
	return err
}

func hostCacheRatio(d *draft, g *given) error {
	_, err := g.positive(1 << 20)
	d.hostRatio = g
	return err
}

// hostMemory turns the flags of the cache in host memory into the key that says its size.
func (d *draft) hostMemory() error {
	size, on, ratio := d.hostSize, d.hostSwitch, d.hostRatio
	switch {
	case on == nil:
		for _, g := range []*given{size, ratio} {
			if g != nil {
				d.idle(g, "SGLang reads it with --enable-hierarchical-cache only (unverified)")
			}
		}
		return nil
	case size == nil:
		const why = "a KV cache in host memory whose size only --hicache-size says"
		d.differ(on, why)
		if ratio != nil {
			d.differ(ratio, why)
		}
		return nil
	case ratio != nil:
		d.idle(ratio, size.written+" counts")
	}
	x, err := size.positive(1 << 20)
	if err != nil {
		return err
	}
	d.set("hicache_size", gibibytes(x), size)
	i := slices.IndexFunc(d.pool, func(s setting) bool { return s.key == "hicache_size" })
	d.pool[i].by = on.written + " " + size.text()
	d.note("%s is in gigabytes, its key in GiB: %s", size.text(), d.pool[i].value)
	return nil
}

// gibibytes turns gigabytes into GiB, which keys count, in four digits.
func gibibytes(gigabytes float64) string {
	x, _ := strconv.ParseFloat(strconv.FormatFloat(gigabytes*1e9/(1<<30), 'g', 4, 64), 64)
	return decimal(x)
}
