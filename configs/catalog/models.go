package catalog

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware/llm"
)

// ModelNames returns the names of the models that are built in, in order.
func ModelNames() []string { return Names("models") }

// Model returns the model of the catalog with that name, as a copy that the caller may change.
func Model(name string) (llm.Model, error) {
	m, err := modelNamed(name)
	m.Layers = slices.Clone(m.Layers)
	return m, err
}

var modelNamed = onEach("models", builtIn)

// builtIn reads the model of that name.
func builtIn(name string) (llm.Model, error) {
	file, text, ok := Lookup("models", name)
	if !ok {
		return llm.Model{}, unknownModel(name)
	}
	spec, err := readModel(file, text)
	if err != nil {
		return llm.Model{}, err
	}
	if spec.Name != name {
		return llm.Model{}, fmt.Errorf("configs: %s names model %q, want %q", file, spec.Name, name)
	}
	return spec.model(file)
}

func readModel(file string, text []byte) (modelSpec, error) {
	var spec modelSpec
	_, err := strict.Decode(file, text, &spec)
	return spec, err
}

// model builds the shape and checks it.
func (s modelSpec) model(file string) (llm.Model, error) {
	m := llm.Model{
		Name: s.Name, Repository: s.Repository, Source: s.Source, Hidden: s.Hidden, Vocab: s.Vocab, ContextMax: s.Context,
		TiedEmbeddings: s.TiedEmbeddings, Positions: s.Positions, EmbeddingNorm: s.EmbeddingNorm,
		Residual:    s.Residual,
		NormVectors: 1, MTP: s.MTP,
	}
	if s.LayerNorm {
		m.NormVectors = 2
	}
	layers, err := s.runs(s.Layers)
	if err == nil && s.MTPLayer != nil {
		m.MTPLayer, err = s.run(*s.MTPLayer)
	}
	if err == nil {
		m.Precision, err = s.Weights.precision()
	}
	if err != nil {
		return llm.Model{}, fmt.Errorf("configs: %s: %w", file, err)
	}
	m.Layers = layers
	if err := m.Validate(); err != nil {
		return llm.Model{}, fmt.Errorf("configs: %s: %w", file, err)
	}
	return m, nil
}
