package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware/llm"
)

// Override is keys of a model's file, in YAML on one line, that stand in place of what another file says; empty: none.
type Override string

var _ strict.ScalarDecoder = (*Override)(nil)

// DecodeScalar implements strict.ScalarDecoder: it takes a mapping, whose keys are those of the catalog's models.
func (o *Override) DecodeScalar(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return fmt.Errorf("expected a mapping such as {context: 32768}, got %s", strict.Describe(n))
	}
	onOneLine(n)
	text, err := yaml.Marshal(n)
	if err != nil {
		return err
	}
	*o = Override(strings.TrimSpace(string(text)))
	_, err = o.spec()
	return err
}

// onOneLine makes a node one that is written between braces, without comments.
func onOneLine(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	} else if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, inner := range n.Content {
		onOneLine(inner)
	}
}

// overrideSpec is what an override says: the keys that it has, and their values.
type overrideSpec struct {
	modelSpec
	keys []string
}

func (o overrideSpec) has(key string) bool { return slices.Contains(o.keys, key) }

// spec reads an override.
func (o Override) spec() (overrideSpec, error) {
	var s overrideSpec
	where := strict.NewPositions("override")
	where.Lineless()
	root, err := strict.Parse(where, []byte(o))
	if err == nil {
		err = where.Fill(root, &s.modelSpec)
	}
	if err != nil {
		return s, errors.New(strings.TrimPrefix(err.Error(), "override: "))
	}
	for i := 0; i < len(root.Content); i += 2 {
		s.keys = append(s.keys, root.Content[i].Value)
	}
	for _, key := range []string{"name", "repository", "source", "published"} {
		if s.has(key) {
			return s, fmt.Errorf("%s is no part of the shape; expected keys such as hidden, context or layers", key)
		}
	}
	for _, key := range []string{"mixers", "ffns", "norms", "mtp_layer"} {
		if s.has(key) && !s.has("layers") {
			return s, fmt.Errorf("%s needs layers, which say where they are; expected both", key)
		}
	}
	return s, nil
}

// apply changes a shape.
func (o overrideSpec) apply(m *llm.Model) error {
	for _, x := range []struct {
		key string
		to  *int
		own int
	}{
		{"hidden", &m.Hidden, o.Hidden}, {"vocab", &m.Vocab, o.Vocab}, {"context", &m.ContextMax, o.Context},
		{"positions", &m.Positions, o.Positions}, {"mtp", &m.MTP, o.MTP},
	} {
		if o.has(x.key) {
			*x.to = x.own
		}
	}
	if o.has("tied_embeddings") {
		m.TiedEmbeddings = o.TiedEmbeddings
	}
	if o.has("embedding_norm") {
		m.EmbeddingNorm = o.EmbeddingNorm
	}
	if o.has("layer_norm") {
		m.NormVectors = 1
		if o.LayerNorm {
			m.NormVectors = 2
		}
	}
	if o.has("residual") {
		m.Residual = o.Residual
	}
	return o.applyLayers(m)
}

// applyLayers changes the layers and what their weights are stored in.
func (o overrideSpec) applyLayers(m *llm.Model) (err error) {
	if o.has("layers") {
		m.Layers, err = o.runs(o.Layers)
	}
	if err == nil && o.MTPLayer != nil {
		m.MTPLayer, err = o.run(*o.MTPLayer)
	}
	if err == nil && o.has("weights") {
		cache := m.Precision.KVCache
		m.Precision, err = o.Weights.precision()
		m.Precision.KVCache = cache
	}
	if err != nil {
		err = fmt.Errorf("override: %w", err)
	}
	return err
}
