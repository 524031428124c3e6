package describe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/huggingface"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/text"
)

// ModelCheck is what a model counts, what a sequence has of its cache, and what of its file was not read.
type ModelCheck struct {
	Model       string          `json:"model"`
	Source      string          `json:"source"`
	Layers      int             `json:"layers"`
	Attention   string          `json:"attention"`
	ContextMax  int             `json:"context_max"`
	Parameters  ParameterCounts `json:"parameters"`
	WeightBytes float64         `json:"weight_bytes"`
	Parts       []ModelPart     `json:"parts"`
	StateBytes  float64         `json:"state_bytes_per_sequence"`
	CacheDtype  string          `json:"kv_cache"`
	Caches      []ModelCache    `json:"caches"`
	Unread      []UnreadField   `json:"unread"`
	Changes     []string        `json:"changes"`

	// Refused says which fields are not understood: a scenario with the file is refused, and the counts are those of the
	// file without them. Empty: the file is understood.
	Refused string `json:"refused,omitempty"`
}

// ParameterCounts are those of a decoder: all, and what a token uses. Active is as most publishers count it, without an
// embedding that is only looked up where there are experts; the others are for those who count in another way.
type ParameterCounts struct {
	Total                         int64 `json:"total"`
	Active                        int64 `json:"active"`
	ActiveWithEmbedding           int64 `json:"active_with_embedding"`
	ActiveWithoutEmbedding        int64 `json:"active_without_embedding"`
	ActiveWithoutEmbeddingAndHead int64 `json:"active_without_embedding_and_head"`
	Drafting                      int64 `json:"drafting_modules"`
}

// ModelPart is the weights of a class.
type ModelPart struct {
	Class      string  `json:"class"`
	Parameters int64   `json:"parameters"`
	Dtype      string  `json:"dtype"`
	Bits       float64 `json:"bits_per_weight"`
	Bytes      float64 `json:"bytes"`
}

// ModelCache is the cache of one sequence, windows at their latest tokens and without copies on several GPUs.
type ModelCache struct {
	Context       int     `json:"context"`
	Bytes         float64 `json:"bytes"`
	BytesPerToken float64 `json:"bytes_per_token"`
	ReadBytes     float64 `json:"read_bytes_per_decode_step"`
}

// UnreadField is a field of a config.json that nothing read.
type UnreadField struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Class string `json:"class"`
	Needs string `json:"needs,omitempty"`
}

// checkContexts are the contexts that a check speaks of, as far as the model has them.
var checkContexts = []int{4096, 32768, 131072, 1048576}

// Check counts a model. One that is refused for fields that are not understood alone is counted without them, beside
// the error.
func Check(source catalog.ModelSource) (*ModelCheck, error) {
	r, err := source.Read()
	var refused *huggingface.NotUnderstood
	if errors.As(err, &refused) {
		c := checkOf(source, catalog.ModelReading(refused.Without))
		c.Refused = refused.Error()
		return c, err
	}
	if err != nil {
		return nil, err
	}
	return checkOf(source, r), nil
}

func checkOf(source catalog.ModelSource, r catalog.ModelReading) *ModelCheck {
	m := &r.Model
	c := &ModelCheck{
		Model: m.Name, Source: m.Source, Layers: m.LayerCount(), Attention: m.AttentionKind(), ContextMax: m.ContextMax,
		Parameters: CountsOf(m), WeightBytes: m.WeightBytes(), Parts: partsOf(m), StateBytes: m.StateBytes(),
		CacheDtype: cmp.Or(m.Precision.KVCache, "bf16"), Unread: unreadOf(r.Unread),
		Changes: append([]string{}, source.Changes()...),
	}
	if r.Assumed != "" {
		c.Changes = append(c.Changes, r.Assumed)
	}
	if own := catalog.PrecisionInName(m.Name); own != "" && catalog.IsModelPath(source.Config) &&
		m.Precision == llm.UniformPrecision() {
		c.Changes = append(c.Changes, fmt.Sprintf("its name says %s and its config.json no quantisation, so that its "+
			"weights count as bf16; its hf_quant_config.json beside a config.json says more", own))
	}
	element := 2.0
	if c.CacheDtype == "fp8" {
		element = 1
	}
	for _, n := range checkContexts {
		if n > m.ContextMax {
			break
		}
		bytes := m.CacheBytes(n, element)
		c.Caches = append(c.Caches, ModelCache{n, bytes, bytes / float64(n), m.CacheReadBytes(n, element)})
	}
	return c
}

// CountsOf counts a model as publishers do.
func CountsOf(m *llm.Model) ParameterCounts {
	return ParameterCounts{
		Total: m.ParamsTotal(), Active: m.Active(), ActiveWithEmbedding: m.ActiveAll(),
		ActiveWithoutEmbedding:        m.ActiveNoEmbedding(),
		ActiveWithoutEmbeddingAndHead: m.ActiveNoEmbeddingNoHead(), Drafting: m.MTPParams(),
	}
}

// partsOf are the classes of weights that there are.
func partsOf(m *llm.Model) (all []ModelPart) {
	for class, n := range m.Params() {
		if n == 0 {
			continue
		}
		f := m.Precision.Weights[class]
		all = append(all, ModelPart{
			Class: llm.WeightClass(class).String(), Parameters: n, Dtype: f.Dtype, Bits: f.Bits,
			Bytes: float64(n) * f.Bits / 8,
		})
	}
	return all
}

func unreadOf(fields []huggingface.Unread) []UnreadField {
	all := []UnreadField{}
	for _, f := range fields {
		all = append(all, UnreadField{f.Key, f.Value, string(f.Class), f.Needs})
	}
	return all
}

// Text writes the check for people.
func (c *ModelCheck) Text(colour bool) []byte {
	p := text.NewPage(colour)
	p.Heading(fmt.Sprintf("%s · %s · %s, context %s", c.Model, text.Counted(c.Layers, "layer"), c.Attention,
		text.Count(c.ContextMax)))
	if c.Refused != "" {
		p.Warning("refused: this counts the file without the fields that are not understood, which may be another model")
	}
	p.Blank()
	rows := [][]string{{"part", "parameters", "share", "bits", "type", "bytes"}}
	for _, x := range c.Parts {
		rows = append(rows, []string{
			strings.ReplaceAll(x.Class, "_", " "), text.Count(x.Parameters),
			text.Percent(float64(x.Parameters) / float64(c.Parameters.Total)), text.Short(x.Bits), x.Dtype,
			text.Scaled(x.Bytes, "B"),
		})
	}
	rows = append(rows, []string{"total", text.Count(c.Parameters.Total), "", "", "", text.Scaled(c.WeightBytes, "B")})
	p.Table(rows, 4)
	p.Blank()
	c.counts(p)
	p.Blank()
	c.cache(p)
	c.unread(p)
	return []byte(p.String())
}

// counts writes what a token uses, as publishers count it.
func (c *ModelCheck) counts(p *text.Page) {
	x := &c.Parameters
	if x.Active != x.Total {
		p.Line(fmt.Sprintf("A token uses %s; %s with the embedding, %s without the head as well.", billions(x.Active),
			billions(x.ActiveWithEmbedding), billions(x.ActiveWithoutEmbeddingAndHead)))
	}
	if x.Drafting > 0 {
		p.Line(fmt.Sprintf("Modules that draft have %s more, which the total leaves out.", billions(x.Drafting)))
	}
	for _, change := range c.Changes {
		p.Warning("warning: " + change)
	}
}

// cache writes what a sequence has.
func (c *ModelCheck) cache(p *text.Page) {
	p.Line(fmt.Sprintf("Cache of one sequence in %s:", c.CacheDtype))
	rows := [][]string{{"context", "bytes", "per token", "read by a decode step"}}
	for _, x := range c.Caches {
		rows = append(rows, []string{
			text.Count(x.Context), text.Scaled(x.Bytes, "B"), text.Count(int64(math.Round(x.BytesPerToken))) + " B",
			text.Scaled(x.ReadBytes, "B"),
		})
	}
	p.Table(rows)
	if c.StateBytes > 0 {
		p.Line(fmt.Sprintf("Beside it each sequence has %s of state, whatever its length.", text.Scaled(c.StateBytes, "B")))
	}
}

// unread writes the fields that were not read, by class.
func (c *ModelCheck) unread(p *text.Page) {
	for _, class := range []huggingface.Class{huggingface.Ignored, huggingface.NeedsCapability, huggingface.Unknown,
		huggingface.Unnamed, huggingface.Harmless} {
		var keys []string
		for _, f := range c.Unread {
			if f.Class != string(class) {
				continue
			}
			switch class {
			case huggingface.NeedsCapability:
				keys = append(keys, fmt.Sprintf("%s %s (%s)", f.Key, f.Value, f.Needs))
			case huggingface.Unknown:
				keys = append(keys, f.Key+" "+f.Value)
			default:
				keys = append(keys, f.Key)
			}
		}
		if len(keys) > 0 {
			p.Line(fmt.Sprintf("Not read, %s: %s.", class, strings.Join(keys, ", ")))
		}
	}
}
