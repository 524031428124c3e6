package hardware

import (
	"fmt"
	"strings"
)

// KVDtypes are the cache element types that are modelled.
func KVDtypes() []string { return []string{"bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"} }

// kvBits returns the bits of a cache element, scales included. An fp8 cache is taken to have one scale per
// tensor, as in vLLM (unverified), which is not counted; the other formats keep theirs as weights do, see FormatOf.
func kvBits(dtype string) (float64, error) {
	if dtype == "fp8" {
		return 8, nil
	}
	f, err := FormatOf(dtype)
	if err != nil {
		return 0, fmt.Errorf("hardware: kv_cache %q not known; have %s", dtype, strings.Join(KVDtypes(), " "))
	}
	return f.Bits, nil
}

// kvBytes is what one token adds to the cache over a group's layers, in the cache's own format.
func (d *Deployment) kvBytes(g AttentionGroup) float64 {
	if d.KVDtype == "fp8" {
		return g.KVBytesPerToken(1)
	}
	bits, err := kvBits(d.KVDtype)
	if err != nil {
		panic(err)
	}
	return float64(g.Layers*g.elements()) * (bits / 8)
}
