package llm

import (
	"fmt"
	"slices"
	"strings"
)

// Projection is a linear layer that a LoRA adapter (Hu et al., arXiv 2106.09685, §4.1) adds a product of two matrices
// to: A of rank rows and In columns, and B of Out rows.
type Projection struct {
	Name    string
	Count   int // layers that have it
	In, Out int64
	// how tensor-parallel ranks divide it: by columns, Out, or by rows, In; neither: each has all of it
	Columns, Rows bool
	Parts         int64 // into which ranks can divide its Out: heads, which more ranks have several times
}

// The modules that adapters may have weights for, by their names in checkpoints.
const (
	ModuleQ     = "q_proj"
	ModuleK     = "k_proj"
	ModuleV     = "v_proj"
	ModuleO     = "o_proj"
	ModuleGate  = "gate_proj"
	ModuleUp    = "up_proj"
	ModuleDown  = "down_proj"
	ModuleHead  = "lm_head"
	ModuleEmbed = "embed_tokens"
)

// AdapterModules returns the names of all modules, in the order of a layer, and then those beside the layers.
func AdapterModules() []string {
	return []string{ModuleQ, ModuleK, ModuleV, ModuleO, ModuleGate, ModuleUp, ModuleDown, ModuleHead, ModuleEmbed}
}

// Adaptable returns the projections of m among the modules named, or says why adapters of them are not modelled.
func (m *Model) Adaptable(modules []string) (list []Projection, err error) {
	for _, r := range m.Layers {
		if err := r.adaptable(m.Name, modules); err != nil {
			return nil, err
		}
		for _, p := range r.projections(int64(m.Hidden)) {
			if p.Out > 0 && slices.Contains(modules, p.Name) {
				list = addProjection(list, p)
			}
		}
	}
	for _, p := range []Projection{
		{Name: ModuleHead, Count: 1, In: int64(m.Hidden), Out: int64(m.Vocab)},
		{Name: ModuleEmbed, Count: 1, In: int64(m.Vocab), Out: int64(m.Hidden)},
	} {
		if slices.Contains(modules, p.Name) {
			list = append(list, p)
		}
	}
	return list, nil
}

// addProjection counts p with those that are like it.
func addProjection(list []Projection, p Projection) []Projection {
	for i := range list {
		if q := list[i]; q.Name == p.Name && q.In == p.In && q.Out == p.Out && q.Parts == p.Parts {
			list[i].Count += p.Count
			return list
		}
	}
	return append(list, p)
}

// adaptable refuses layers that have other projections than those named.
func (r *LayerRun) adaptable(name string, modules []string) error {
	a, f := &r.Mixer.Attention, &r.FFN
	ofFFN := slices.ContainsFunc([]string{ModuleGate, ModuleUp, ModuleDown},
		func(module string) bool { return slices.Contains(modules, module) })
	switch {
	case a.Latent.Rank > 0, a.Compression.Ratio > 0, a.Index.TopK > 0, a.OutputRank > 0, r.Mixer.Recurrence.ValueHeads > 0:
		return fmt.Errorf("adapters of %s are not modelled: its layers have latents, indexers or recurrences; accepted: "+
			"models whose layers attend by q_proj, k_proj, v_proj and o_proj", name)
	case f.Experts > 0 && ofFFN:
		return fmt.Errorf("adapters of the experts of %s are not modelled; accepted: lora_target_modules of its attention "+
			"alone, such as [%s]", name, strings.Join([]string{ModuleQ, ModuleK, ModuleV, ModuleO}, ", "))
	}
	return nil
}

// projections returns those of a layer.
func (r *LayerRun) projections(h int64) []Projection {
	a, f := &r.Mixer.Attention, &r.FFN
	heads, groups := int64(a.Heads), int64(a.KVHeads)
	k, v, w := int64(a.KeyDim), int64(a.ValueDim), int64(f.Width)
	list := []Projection{
		{Name: ModuleQ, In: h, Out: heads * k * int64(1+boolToInt(a.OutputGate)), Columns: true, Parts: heads},
		{Name: ModuleK, In: h, Out: groups * k, Columns: true, Parts: groups},
		{Name: ModuleV, In: h, Out: groups * v, Columns: true, Parts: groups},
	}
	if a.ValueFromKey {
		list = list[:2]
	}
	if heads > 0 {
		list = append(list, Projection{Name: ModuleO, In: heads * v, Out: h, Rows: true})
	}
	if w > 0 {
		if !f.Plain {
			list = append(list, Projection{Name: ModuleGate, In: h, Out: w, Columns: true, Parts: w})
		}
		list = append(list, Projection{Name: ModuleUp, In: h, Out: w, Columns: true, Parts: w},
			Projection{Name: ModuleDown, In: w, Out: h, Rows: true})
	}
	for i := range list {
		list[i].Count = r.Count
	}
	return list
}
