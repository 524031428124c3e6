package hardware

import (
	"fmt"
	"github.com/decodesim/decodesim/hardware/llm"
)

// NewDrafter returns what drafts up to tokens tokens for the target; nil for what the host looks up.
//
//	draft   the model given, of the same vocabulary as the target's
//	eagle   the model given, or else one decoder layer like the target's last and a projection that merges a hidden state
//	        with the token's embedding, 2h·h, in bf16 (Li et al., EAGLE, arXiv 2401.15077, §4.1); and the target's LM
//	        head, or one of vocab rows (EAGLE-3, arXiv 2503.01840). A layer of experts becomes a dense one as wide as
//	        what a token uses: published heads of such models are dense, of various widths
//	medusa  K heads, each a residual projection h·h and an LM head V·h of its own, in bf16 (Cai et al., Medusa,
//	        arXiv 2401.10774, §2.1); one chain of drafts, not a tree
//	mtp     the checkpoint's module: a decoder layer, a merge 2h·h and the target's LM head (DeepSeek-V3,
//	        arXiv 2412.19437, §2.2); more drafts than modules use the modules again
func NewDrafter(method DraftMethod, target llm.Model, given *llm.Model, tokens, vocab int) (*Drafter, error) {
	switch method {
	case DraftModel:
		if given == nil {
			return nil, fmt.Errorf("hardware: draft_model missing; expected the model that drafts for %s", target.Name)
		}
		if given.Vocab != target.Vocab {
			return nil, fmt.Errorf("hardware: draft_model %s has a vocabulary of %d tokens and %s one of %d; "+
				"expected one that shares it", given.Name, given.Vocab, target.Name, target.Vocab)
		}
		return &Drafter{Model: *given, Modules: 1}, nil
	case DraftEAGLE:
		return eagle(target, given, vocab)
	case DraftMedusa:
		m := headOn(target, "Medusa heads", llm.LayerRun{Count: 1})
		m.Vocab, m.Merge = tokens*target.Vocab, tokens
		return &Drafter{Model: m, Head: true, Modules: 1, Parallel: true}, nil
	case DraftMTP:
		if target.MTP == 0 {
			return nil, fmt.Errorf("hardware: method mtp, but the checkpoint of %s has no such module; "+
				"accepted: draft, eagle, medusa, ngram", target.Name)
		}
		run := target.MTPLayer
		run.Count = 1
		m := headOn(target, "MTP module", run)
		m.Merge, m.Precision, m.Residual = 2, target.Precision, target.Residual
		return &Drafter{Model: m, Head: true, SharesHead: true, Modules: min(tokens, target.MTP)}, nil
	case DraftNGram:
		return nil, nil
	}
	return nil, unknownMethod(method)
}

// eagle returns the head given, or one of the target's own shape. An LM head of another vocabulary than the target's is
// the head's own.
func eagle(target llm.Model, given *llm.Model, vocab int) (*Drafter, error) {
	if vocab < 0 || vocab > target.Vocab {
		return nil, fmt.Errorf("hardware: draft_vocab %d; %s has %d tokens, of which a head drafts some or all", vocab,
			target.Name, target.Vocab)
	}
	var m llm.Model
	if given != nil {
		m = *given
		if m.Hidden != target.Hidden {
			return nil, fmt.Errorf("hardware: draft_model %s is %d wide and %s is %d; expected a head for the target",
				m.Name, m.Hidden, target.Name, target.Hidden)
		}
		m.TiedEmbeddings = false
	} else {
		run, ok := target.LastAttention()
		if !ok {
			return nil, fmt.Errorf("hardware: method eagle, but no layer of %s attends; expected another method", target.Name)
		}
		m = headOn(target, "EAGLE head", run)
	}
	m.Merge = 2
	if vocab > 0 {
		m.Vocab = vocab
	}
	shares := m.Vocab == target.Vocab
	if shares {
		m.Precision.Weights[llm.Head] = target.Precision.Weights[llm.Head]
	}
	return &Drafter{Model: m, Head: true, SharesHead: shares, Modules: 1}, nil
}

// headOn returns a model of one run of layers in bf16, as wide as the target and of its vocabulary.
func headOn(target llm.Model, name string, run llm.LayerRun) llm.Model {
	return llm.Model{
		Name: target.Name + " " + name, Hidden: target.Hidden, Vocab: target.Vocab, ContextMax: target.ContextMax,
		NormVectors: target.NormVectors, Layers: []llm.LayerRun{run}, Precision: llm.UniformPrecision(),
		Source: target.Source,
	}
}
