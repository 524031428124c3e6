package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware/llm"
)

// modelSpec is a model's YAML: the parts by name, then the layers in order.
type modelSpec struct {
	Name           string        `yaml:"name"`
	Repository     string        `yaml:"repository"` // of a checkpoint of that shape, as its source names it; empty: none read
	Source         string        `yaml:"source"`
	Published      publishedSize `yaml:"published"`
	Hidden         int           `yaml:"hidden"`
	Vocab          int           `yaml:"vocab"`
	Context        int           `yaml:"context"`
	TiedEmbeddings bool          `yaml:"tied_embeddings"`
	LayerNorm      bool          `yaml:"layer_norm"`     // LayerNorm with bias instead of RMSNorm
	EmbeddingNorm  bool          `yaml:"embedding_norm"` // a norm after the embedding
	Positions      int           `yaml:"positions"`      // rows of a learned position table
	Norms          int           `yaml:"norms"`          // per layer that says no number of its own; 0: two
	Residual       llm.Residual  `yaml:"residual"`       // what layers add to, where that is more than one vector
	Mixers         []mixerSpec   `yaml:"mixers"`
	FFNs           []ffnSpec     `yaml:"ffns"`
	Layers         []layerSpec   `yaml:"layers"`
	MTP            int           `yaml:"mtp"`
	MTPLayer       *layerSpec    `yaml:"mtp_layer"`
	Weights        weightsSpec   `yaml:"weights"`
}

// publishedSize is what the publisher says, kept as a check of the shape; nothing is computed from it.
type publishedSize struct {
	Total   float64 `yaml:"total"`
	Active  float64 `yaml:"active"`  // 0: not published
	Without string  `yaml:"without"` // what the active count leaves out: nothing, embedding, or embedding-and-head
	Note    string  `yaml:"note"`    // why the shape comes to something else than the published counts
}

// mixerSpec is a token mixer that layers refer to by name.
type mixerSpec struct {
	Name       string            `yaml:"name"`
	Attention  llm.SelfAttention `yaml:"attention"`
	Recurrence llm.Recurrence    `yaml:"recurrence"`
}

// ffnSpec is a feed-forward network that layers refer to by name.
type ffnSpec struct {
	Name    string `yaml:"name"`
	llm.FFN `yaml:",inline"`
}

// layerSpec is Count equal layers of a mixer and a network, or a Run of such that repeats. A part without a name is
// none.
type layerSpec struct {
	Count  int         `yaml:"count"`
	Mixer  string      `yaml:"mixer"`
	FFN    string      `yaml:"ffn"`
	Norms  int         `yaml:"norms"` // 0: those of the model
	Repeat int         `yaml:"repeat"`
	Run    []layerSpec `yaml:"run"`
}

// weightsSpec is the checkpoint's type of some classes, and of others in further formats; the rest are bf16.
type weightsSpec struct {
	Dtype   string        `yaml:"dtype"`
	Classes []string      `yaml:"classes"`
	Formats []weightsSpec `yaml:"formats"`
}

// modelLayersMax bounds a repetition before the shape is validated.
const modelLayersMax = 1000

// runs spells out the repetitions.
func (s modelSpec) runs(specs []layerSpec) ([]llm.LayerRun, error) {
	var out []llm.LayerRun
	for _, l := range specs {
		if l.Repeat == 0 && l.Run == nil {
			r, err := s.run(l)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
			continue
		}
		if l.Count != 0 || l.Mixer != "" || l.FFN != "" || l.Norms != 0 || l.Repeat < 1 || len(l.Run) == 0 {
			return nil, fmt.Errorf("layers: want count, mixer and ffn, or repeat ≥ 1 and a run")
		}
		inner, err := s.runs(l.Run)
		if err != nil {
			return nil, err
		}
		if l.Repeat*len(inner) > modelLayersMax {
			return nil, fmt.Errorf("layers: repeat %d: want at most %d layers", l.Repeat, modelLayersMax)
		}
		for range l.Repeat {
			out = append(out, inner...)
		}
	}
	return out, nil
}

// run resolves the names of a layer's parts.
func (s modelSpec) run(l layerSpec) (llm.LayerRun, error) {
	r := llm.LayerRun{Count: l.Count, Norms: cmp.Or(l.Norms, s.Norms, 2)}
	if l.Mixer != "" {
		x, err := s.mixer(l.Mixer)
		if err != nil {
			return r, err
		}
		r.Mixer = x
	}
	if l.FFN != "" {
		f, err := s.ffn(l.FFN)
		if err != nil {
			return r, err
		}
		r.FFN = f
	}
	return r, nil
}

func (s modelSpec) mixer(name string) (llm.Mixer, error) {
	var have []string
	for _, x := range s.Mixers {
		if x.Name == name {
			return llm.Mixer{Attention: x.Attention, Recurrence: x.Recurrence}, nil
		}
		have = append(have, x.Name)
	}
	return llm.Mixer{}, fmt.Errorf("layers: %s", strict.UnknownName("mixer", name, have))
}

func (s modelSpec) ffn(name string) (llm.FFN, error) {
	var have []string
	for _, f := range s.FFNs {
		if f.Name == name {
			return f.FFN, nil
		}
		have = append(have, f.Name)
	}
	return llm.FFN{}, fmt.Errorf("layers: %s", strict.UnknownName("ffn", name, have))
}

// precision is bf16 but for the classes listed.
func (w weightsSpec) precision() (llm.Precision, error) {
	p := llm.UniformPrecision()
	for _, x := range append([]weightsSpec{w}, w.Formats...) {
		if err := x.apply(&p); err != nil {
			return p, fmt.Errorf("weights: %w", err)
		}
	}
	return p, nil
}

// apply stores the classes of one format.
func (w weightsSpec) apply(p *llm.Precision) error {
	if w.Dtype == "" && len(w.Classes) == 0 {
		return nil
	}
	f, err := llm.FormatOf(w.Dtype)
	if err != nil {
		return err
	}
	var have []string
	for c := range llm.NumClasses {
		have = append(have, c.String())
	}
	for _, name := range w.Classes {
		c := slices.Index(have, name)
		if c < 0 {
			return errors.New(strict.UnknownName("class", name, have))
		}
		p.Weights[c] = f
	}
	return nil
}
