package explain

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
)

// loadsX is what it takes to load a prefix as long as the context, alone.
type loadsX struct {
	How    string   `json:"how"` // layerwise, sync or async, as the run does it
	Beside bool     `json:"beside_steps"`
	Tokens int      `json:"tokens"`
	Bytes  float64  `json:"bytes"` // to each GPU
	LoadS  float64  `json:"load_s"`
	Tiers  []fetchX `json:"tiers,omitempty"` // from which it comes to host memory first
}

// fetchX is what it takes to fetch the prefix from a tier to host memory.
type fetchX struct {
	Name   string  `json:"name"`
	FetchS float64 `json:"fetch_s"`
}

// explainLoads prices loading a prefix of the context; nil: host memory keeps none.
func (s *Step) explainLoads() *loadsX {
	pool := s.loads
	if pool == nil {
		return nil
	}
	size, swap := s.Pool.BlockSize, &s.Deployment.Swap
	blocks := (s.Context + size - 1) / size
	bytes := float64(blocks) * swap.BlockBytes
	x := &loadsX{How: s.Pool.KVLoad, Beside: pool.LoadLink != (sim.Link{}), Tokens: s.Context, Bytes: bytes,
		LoadS: bytes / swap.LinkBps}
	if x.How == catalog.LoadAsync && !x.Beside || x.How == catalog.LoadLayerwise && swap.Layers == 0 {
		x.How = catalog.LoadSync // which the run does instead, and says so
	}
	for i := range pool.Tiers {
		t := &pool.Tiers[i]
		tokens := float64(blocks * size)
		x.Tiers = append(x.Tiers, fetchX{t.Name, t.Link.Latency.Seconds() + float64(tokens*t.Link.Token.Seconds())})
	}
	return x
}

// explainLoads says in a line how prefixes come back from host memory and what that takes.
func explainLoads(line func(string, ...any), x *Explanation) {
	l := x.Loads
	if l == nil {
		return
	}
	how := "before the step that computes the rest, which lasts so much longer for all in it"
	switch {
	case l.Beside:
		how = "beside steps, while its request waits for its place in the batch"
	case l.How == catalog.LoadLayerwise:
		how = "layer by layer during the step that computes the rest"
	}
	var tiers strings.Builder
	for i, t := range l.Tiers {
		separator := ", "
		if i == 0 {
			separator = "; fetching it to host memory first takes "
		}
		fmt.Fprintf(&tiers, "%s%s ms from tier %s", separator, milli(t.FetchS), t.Name)
	}
	line("Cached prefixes come from host memory %s (kv_load %s): %s tokens, %s for each GPU, take %s ms alone%s.", how,
		l.How, text.Count(l.Tokens), text.Scaled(l.Bytes, "B"), milli(l.LoadS), tiers.String())
}
