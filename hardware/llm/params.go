package llm

// WeightClass is a kind of weight tensor: what shares a precision, a way of being split over GPUs and a place in a
// step.
type WeightClass uint8

// The classes of weights.
const (
	Embedding WeightClass = iota // rows that are only looked up; none when the head shares the table
	Head                         // the output matrix, a tied table included: every step reads it
	Attention                    // projections, biases, sinks: split over tensor-parallel ranks
	// projections that every tensor-parallel rank holds whole: latent down-projections
	AttentionReplicated
	Indexer    // sparse attention's scorer
	Compressor // what makes one entry of the cache of several tokens
	Recurrent  // gated delta nets, Mamba-2 and KDA
	Router
	ExpertProjections // to the width of routed experts and back, where that is not the hidden size
	SharedExperts
	DenseFFN
	RoutedExperts
	Norms // and the weights of residual streams
	NumClasses
)

// classNames are the names in YAML and in messages.
var classNames = [NumClasses]string{"embedding", "head", "attention", "attention_replicated", "indexer", "compressor",
	"recurrent", "router", "expert_projections", "shared_experts", "dense_ffn", "routed_experts", "norms"}

// String is the class's name in snake case.
func (c WeightClass) String() string { return classNames[c] }

// Counts is a number of parameters per class.
type Counts [NumClasses]int64

// Total sums the classes.
func (c Counts) Total() int64 {
	sum := int64(0)
	for _, n := range c {
		sum += n
	}
	return sum
}

// Params counts the decoder: embedding, head, all layers and norms, without MTP modules and with the merge of a head.
// The validated bounds of a shape keep every product below 2^63.
func (m Model) Params() Counts {
	var c Counts
	h, table := int64(m.Hidden), int64(m.Vocab)*int64(m.Hidden)
	c[Head] = table
	if !m.TiedEmbeddings {
		c[Embedding] = table
	}
	c[Embedding] += int64(m.Positions) * h
	if m.HeadBias {
		c[Head] += int64(m.Vocab)
	}
	c[Norms] = int64(boolToInt(m.EmbeddingNorm)+boolToInt(!m.NoFinalNorm)) * int64(m.NormVectors) * h
	c[AttentionReplicated] = int64(m.Merge) * h * h
	_, end := m.Residual.params(h)
	c[Norms] += end
	for _, r := range m.Layers {
		layer := m.layerParams(r)
		for class, n := range layer {
			c[class] += int64(r.Count) * n
		}
	}
	return c
}

func (m Model) layerParams(r LayerRun) Counts {
	var c Counts
	h := int64(m.Hidden)
	r.Mixer.Attention.addParams(h, &c)
	c[Recurrent] += r.Mixer.Recurrence.params(h)
	r.FFN.addParams(h, &c)
	residual, _ := m.Residual.params(h)
	c[Norms] += int64(r.Norms)*int64(m.NormVectors)*h + residual
	return c
}

// ParamsTotal counts all parameters of the decoder.
func (m Model) ParamsTotal() int64 { return m.Params().Total() }

// ActiveAll counts what one token uses: everything but the routed experts that it does not use.
func (m Model) ActiveAll() int64 {
	total := m.ParamsTotal()
	for _, r := range m.Layers {
		if f := r.FFN; f.Experts > 0 {
			total -= int64(r.Count) * int64(f.Experts-f.TopK) * f.expert(int64(m.Hidden))
		}
	}
	return total
}

// Active counts what one token uses as most publishers do: all of a dense model, and of one with experts what a step
// multiplies, ActiveNoEmbedding.
func (m Model) Active() int64 {
	if m.Experts() == 0 {
		return m.ParamsTotal()
	}
	return m.ActiveNoEmbedding()
}

// ActiveNoEmbedding is ActiveAll without an input embedding that is only looked up; a tied table stays, since the head
// reads it.
func (m Model) ActiveNoEmbedding() int64 {
	if m.TiedEmbeddings {
		return m.ActiveAll()
	}
	return m.ActiveAll() - int64(m.Vocab)*int64(m.Hidden)
}

// ActiveNoEmbeddingNoHead is ActiveAll without embedding, position table and head.
func (m Model) ActiveNoEmbeddingNoHead() int64 {
	c := m.Params()
	return m.ActiveAll() - c[Embedding] - c[Head]
}

// MTPParams counts all multi-token-prediction modules: each is one decoder layer, a merge of 2h·h and three norms.
// Embedding and head are the decoder's own.
func (m Model) MTPParams() int64 {
	h := int64(m.Hidden)
	return int64(m.MTP) * (m.layerParams(m.MTPLayer).Total() + 2*h*h + 3*h)
}
