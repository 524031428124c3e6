package llm

import "fmt"

// Bounds of a shape. They keep Params within int64 (layers × 3 × hidden × width × experts < 2^63) and catch slips of
// units; the largest published models stay a factor of four below them.
const (
	hiddenMax  = 1 << 17
	widthMax   = 1 << 20
	expertsMax = 1 << 14
	layersMax  = 1000
	headsMax   = 1 << 12
	dimMax     = 1 << 12
	vocabMax   = 1 << 24
	contextMax = 1 << 30
	mtpMax     = 64
	ratioMax   = 1 << 16
)

// Validate reports the first thing that makes m impossible, by field.
func (m Model) Validate() error {
	err := firstOutside([]bounded{
		{"hidden", m.Hidden, 1, hiddenMax},
		{"vocab", m.Vocab, 1, vocabMax},
		{"context", m.ContextMax, 1, contextMax},
		{"positions", m.Positions, 0, contextMax},
		{"norm vectors", m.NormVectors, 0, 2},
		{"MTP modules", m.MTP, 0, mtpMax},
		{"residual streams", m.Residual.Streams, 0, 64}, {"residual block", m.Residual.Block, 0, layersMax},
	})
	if err != nil {
		return fmt.Errorf("model %q: %w", m.Name, err)
	}
	for i, r := range m.Layers {
		if err := r.validate(); err != nil {
			return fmt.Errorf("model %q: layer run %d: %w", m.Name, i, err)
		}
	}
	if m.MTP > 0 {
		if err := m.MTPLayer.validate(); err != nil {
			return fmt.Errorf("model %q: MTP layer: %w", m.Name, err)
		}
	}
	if err := m.validateLayers(); err != nil {
		return fmt.Errorf("model %q: %w", m.Name, err)
	}
	return m.validatePrecision()
}

func (m Model) validateLayers() error {
	if err := firstOutside([]bounded{{"layers", m.LayerCount(), 1, layersMax}}); err != nil {
		return err
	}
	moe := m.moe()
	attends := false
	for i, r := range m.Layers {
		f := r.FFN
		if f.Experts > 0 && (f.Experts != moe.Experts || f.TopK != moe.TopK || f.Latent != moe.Latent) {
			return fmt.Errorf("layer run %d has %d experts, top-%d, of latent width %d, others %d, top-%d, of %d; "+
				"all MoE layers must agree", i, f.Experts, f.TopK, f.Latent, moe.Experts, moe.TopK, moe.Latent)
		}
		attends = attends || r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0
	}
	if !attends {
		return fmt.Errorf("no layer has attention or a recurrence; at least one must")
	}
	return nil
}

func (m Model) validatePrecision() error {
	for c := range NumClasses {
		f := m.Precision.Weights[c]
		if _, err := FormatOf(f.Dtype); err != nil {
			return fmt.Errorf("model %q: %s: %w", m.Name, c, err)
		}
		if !(f.Bits >= 1 && f.Bits <= 32) {
			return fmt.Errorf("model %q: %s: %g bits per weight; want 1 to 32", m.Name, c, f.Bits)
		}
	}
	return nil
}

func (r LayerRun) validate() error {
	if err := firstOutside([]bounded{{"count", r.Count, 1, layersMax}, {"norms", r.Norms, 0, 8}}); err != nil {
		return err
	}
	if r.Mixer.Attention.Heads != 0 {
		if err := r.Mixer.Attention.validate(); err != nil {
			return err
		}
	} else if r.Mixer.Attention != (SelfAttention{}) {
		return fmt.Errorf("heads is 0 but other attention fields are set; want heads ≥ 1")
	}
	if r.Mixer.Recurrence != (Recurrence{}) {
		if err := r.Mixer.Recurrence.validate(); err != nil {
			return err
		}
	}
	return r.FFN.validate()
}

func (s SelfAttention) validate() error {
	kvHeadsMin := 1
	if s.Latent.Rank > 0 {
		kvHeadsMin = 0
	}
	err := firstOutside([]bounded{
		{"heads", s.Heads, 1, headsMax}, {"KV heads", s.KVHeads, kvHeadsMin, headsMax},
		{"key dim", s.KeyDim, 1, dimMax}, {"value dim", s.ValueDim, 1, dimMax},
		{"window", s.Window, 0, contextMax},
		{"latent rank", s.Latent.Rank, 0, widthMax}, {"query rank", s.Latent.QueryRank, 0, widthMax},
		{"rope dim", s.Latent.RopeDim, 0, dimMax},
	})
	if err != nil {
		return err
	}
	if s.KVHeads > 0 && s.Heads%s.KVHeads != 0 {
		return fmt.Errorf("%d heads do not divide into %d KV heads; want a divisor of the heads", s.Heads, s.KVHeads)
	}
	if s.Latent.Rank == 0 && s.Latent != (Latent{}) {
		return fmt.Errorf("latent rank is 0 but other latent fields are set; want a rank ≥ 1")
	}
	if l := s.Latent; l.Direct && (s.KeyDim != l.Rank || s.ValueDim != l.Rank || l.RopeDim > l.Rank) {
		return fmt.Errorf("key dim %d, value dim %d and rope dim %d beside a direct latent; want the first two to be its "+
			"rank, %d, and the third at most that", s.KeyDim, s.ValueDim, l.RopeDim, l.Rank)
	}
	if err := s.validateOutput(); err != nil {
		return err
	}
	if err := s.validateCompression(); err != nil {
		return err
	}
	switch s.QKNorm {
	case QKNormNone, QKNormPerHead, QKNormAllHeads:
	default:
		return fmt.Errorf("q/k norm %q; valid values: %q and %q", s.QKNorm, QKNormPerHead, QKNormAllHeads)
	}
	return s.validateIndex()
}

// validateOutput reports what makes no output projection, and values that cannot be those of keys.
func (s SelfAttention) validateOutput() error {
	groupsMin := boolToInt(s.OutputRank > 0)
	err := firstOutside([]bounded{
		{"output rank", s.OutputRank, 0, widthMax}, {"output groups", s.OutputGroups, groupsMin, groupsMin * s.Heads},
	})
	if err == nil && s.OutputRank > 0 && s.Heads%s.OutputGroups != 0 {
		err = fmt.Errorf("%d heads do not divide into %d output groups; want a divisor of the heads", s.Heads, s.OutputGroups)
	}
	if err == nil && s.ValueFromKey && (s.Latent.Rank > 0 || s.KeyDim != s.ValueDim) {
		err = fmt.Errorf("values are from keys of %d but %d wide; want equal widths and no latent", s.KeyDim, s.ValueDim)
	}
	return err
}

func (s SelfAttention) validateCompression() error {
	x := s.Compression
	switch {
	case x == Compression{}:
		return nil
	case s.Window == 0 || s.Chunked:
		return fmt.Errorf("compression beside no sliding window; want one of at least 1 token")
	}
	return firstOutside([]bounded{{"compression ratio", x.Ratio, 1, ratioMax}})
}

func (s SelfAttention) validateIndex() error {
	x := s.Index
	switch {
	case x == Index{}:
		return nil
	case x.Reused && x != (Index{TopK: x.TopK, Reused: true}):
		return fmt.Errorf("an index that is reused has other fields than top-k; want none")
	case s.Window > 0 && s.Compression.Ratio == 0:
		return fmt.Errorf("an index beside a window of %d tokens; want one of the two, or compression", s.Window)
	case x.Reused:
		return firstOutside([]bounded{{"index top-k", x.TopK, 1, contextMax}})
	case x.Block == 0 && s.Latent.QueryRank == 0:
		return fmt.Errorf("an indexer reads compressed queries; want a query rank ≥ 1, or blocks")
	case x.Block > 0 && x.TopK%x.Block != 0:
		return fmt.Errorf("index top-k of %d tokens is no multiple of blocks of %d; want one", x.TopK, x.Block)
	case x.Pool > 0 && s.Compression.Ratio > 0:
		return fmt.Errorf("index keys pool %d tokens beside compressed entries; want one of the two", x.Pool)
	}
	return firstOutside([]bounded{
		{"index heads", x.Heads, 1, headsMax}, {"index dim", x.Dim, 1, dimMax},
		{"index top-k", x.TopK, 1, contextMax / max(1, s.Compression.Ratio)},
		{"index block", x.Block, 0, contextMax}, {"index pool", x.Pool, 0, ratioMax},
	})
}

func (r Recurrence) validate() error {
	err := firstOutside([]bounded{
		{"recurrent key heads", r.KeyHeads, 1, headsMax}, {"recurrent key dim", r.KeyDim, 1, dimMax},
		{"recurrent value heads", r.ValueHeads, 1, headsMax}, {"recurrent value dim", r.ValueDim, 1, dimMax},
		{"convolution kernel", r.Kernel, 1, 64}, {"state bytes", r.StateBytes, 1, 8},
		{"gate rank", r.GateRank, 0, boolToInt(r.KDA) * widthMax},
	})
	if err == nil && r.KDA && r.Mamba2 {
		err = fmt.Errorf("a recurrence is Mamba-2 and KDA; want one of the two")
	}
	if err == nil && r.ValueHeads%r.KeyHeads != 0 {
		err = fmt.Errorf("%d recurrent value heads do not divide into %d key heads; want a divisor", r.ValueHeads, r.KeyHeads)
	}
	return err
}

func (f FFN) validate() error {
	if f.Experts == 0 {
		if f != (FFN{Width: f.Width, Plain: f.Plain, Bias: f.Bias}) {
			return fmt.Errorf("experts is 0 but expert fields are set; want experts ≥ 1")
		}
		return firstOutside([]bounded{{"FFN width", f.Width, 0, widthMax}})
	}
	err := firstOutside([]bounded{
		{"FFN width", f.Width, 0, widthMax}, {"latent width", f.Latent, 0, widthMax},
		{"experts", f.Experts, 1, expertsMax}, {"expert width", f.ExpertWidth, 1, widthMax},
		{"experts per token", f.TopK, 1, f.Experts}, {"shared expert width", f.SharedWidth, 0, widthMax},
		{"expert groups", f.Groups, 0, f.Experts}, {"expert groups per token", f.TopGroups, min(1, f.Groups), f.Groups},
	})
	if err == nil && f.Groups > 0 && f.Experts%f.Groups != 0 {
		err = fmt.Errorf("%d expert groups do not divide %d experts; want a divisor", f.Groups, f.Experts)
	}
	return err
}

// bounded is a named value and the range it must keep.
type bounded struct {
	name            string
	value, min, max int
}

func firstOutside(values []bounded) error {
	for _, b := range values {
		if b.value < b.min || b.value > b.max {
			return fmt.Errorf("%s is %d; want %d to %d", b.name, b.value, b.min, b.max)
		}
	}
	return nil
}
