package huggingface

import (
	"fmt"
	"slices"
	"strings"
)

// nests are the keys under which multimodal configs put their decoder.
var nests = [...]string{"text_config", "language_config", "llm_config", "language_model_config", "thinker_config"}

// decoder finds the text decoder inside a config and refuses what is none.
func decoder(outer *fields) (*config, error) {
	if err := refuseEncoders(outer); err != nil {
		return nil, err
	}
	text := outer
	modelType := outer.text("", "model_type")
	quantization := outer.object("quantization_config")
	tied, tiedSaid := outer.flag(false, "tie_word_embeddings"), outer.has("tie_word_embeddings")
	var around []*fields
	for depth := 0; ; depth++ {
		key, ok := text.first(nests[:])
		if !ok {
			break
		}
		inner := text.object(key)
		if text.err != nil {
			return nil, text.err
		}
		if depth > 3 {
			return nil, fmt.Errorf("%s%s: decoders nested more than four deep are not understood", text.path, key)
		}
		around, text = append(around, text), inner
		if err := refuseEncoders(text); err != nil {
			return nil, err
		}
		modelType = text.text(modelType, "model_type")
		if q := text.object("quantization_config"); q != nil {
			quantization = q
		}
		if text.has("tie_word_embeddings") {
			tied, tiedSaid = text.flag(false, "tie_word_embeddings"), true
		}
	}
	if modelType == "dbrx" {
		text.lift("attn_config", "ffn_config")
	}
	if err := firstError(outer.err, text.err); err != nil {
		return nil, err
	}
	if key := text.decoderInside(); key != "" {
		return nil, fmt.Errorf("%shidden_size is missing, but %s has one: a decoder of that name is not understood; want it "+
			"under %s, or in a file of its own", text.path, key, strings.Join(nests[:], ", "))
	}
	c := &config{fields: text, around: around, modelType: modelType, family: familyOf(modelType),
		quantization: quantization}
	c.tied = tied || !tiedSaid && c.family.tied
	if why := c.family.refused; why != "" {
		return nil, fmt.Errorf("%smodel_type is %q: %s", text.path, modelType, why)
	}
	return c, nil
}

// decoderInside returns the field of an object without a hidden size that has one; empty: none is a decoder.
func (f *fields) decoderInside() string {
	for _, key := range []string{"hidden_size", "n_embd", "d_model"} {
		if _, ok := f.raw[key]; ok {
			return ""
		}
	}
	for _, key := range f.keys() {
		inner, err := newFields(f.path+key+".", f.raw[key])
		other := func(word string) bool { return strings.Contains(strings.ToLower(key), word) }
		if err == nil && inner.has("hidden_size") && !slices.ContainsFunc(otherModalities[:], other) {
			return key
		}
	}
	return ""
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// encoders are model types that do not decode token by token with a cache.
var encoders = [...]string{"albert", "bart", "bert", "blenderbot", "camembert", "clip", "clip_text_model",
	"clip_vision_model",
	"deberta", "deberta-v2", "dinov2", "distilbert", "electra", "ernie", "marian", "mbart", "modernbert", "mpnet", "mt5",
	"pegasus",
	"roberta", "siglip", "siglip_vision_model", "switch_transformers", "t5", "t5gemma", "umt5", "vit", "wav2vec2",
	"whisper",
	"xlm-roberta"}

// decoderSuffixes end the architectures that are understood.
var decoderSuffixes = [...]string{"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForCausalLMNextN"}

func refuseEncoders(f *fields) error {
	if f.flag(false, "is_encoder_decoder") {
		f.fail("is_encoder_decoder", "encoder–decoder models are not understood, only decoders are")
	}
	if t := f.text("", "model_type"); slices.Contains(encoders[:], strings.ToLower(t)) {
		f.fail("model_type", "this is no decoder; understood are decoder-only language models")
	}
	for _, a := range f.texts("architectures") {
		ok := slices.ContainsFunc(decoderSuffixes[:], func(s string) bool { return strings.HasSuffix(a, s) })
		if !ok && f.err == nil {
			f.fail("architectures", "%q is no language-model decoder; understood are names that end in %s", a,
				strings.Join(decoderSuffixes[:], ", "))
		}
	}
	return f.err
}
