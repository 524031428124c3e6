package huggingface

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Class says what is to be expected of a field that nothing read.
type Class string

// The classes: Harmless fields are known to change no cost, or say that what they are about is absent; Unnamed ones
// have no word that speaks of the shape; NeedsCapability ones speak of something that the shape cannot say, and Unknown
// ones of the shape in words that nothing reads.
const (
	Harmless        Class = "harmless"
	Unnamed         Class = "taken for harmless"
	NeedsCapability Class = "needs a capability"
	Unknown         Class = "unknown"
	Ignored         Class = "ignored"
)

// Unread is a field that nothing read.
type Unread struct {
	Key   string
	Value string // as written, cut short
	Class Class
	Needs string // what the shape cannot say, of the class NeedsCapability
}

// capabilities are words of fields, and what they speak of that the shape cannot say.
var capabilities = []struct {
	needs string
	words []string
}{
	{"layers that share a KV cache", []string{"kv_shared", "share_kv", "shared_kv", "cla_", "yoco", "cross_layer"}},
	{"cross-attention", []string{"cross_"}},
	{"embeddings per layer", []string{"per_layer_input", "per_layer_embed", "per_layer_proj", "altup", "laurel"}},
	{"layers that differ in it", []string{"per_layer", "layerwise"}},
	{"embeddings of several tokens", []string{"ngram", "engram", "hash"}},
	{"layers that run several times", []string{"loop", "recursion"}},
	{"recurrent layers of another kind",
		[]string{"ssm", "mamba", "rwkv", "lru", "gru", "retention", "hyena", "recurrent", "conv", "lightning"}},
	{"attention over compressed or indexed entries of another kind", []string{"compress", "index", "sparse"}},
	{"latent attention of another kind", []string{"lora", "latent", "mla"}},
	{"experts laid out in another way", []string{"expert", "moe", "router", "topk"}},
	{"modules that draft in another way", []string{"mtp", "nextn", "draft", "medusa"}},
	{"windows laid out in another way", []string{"window", "sliding", "swa", "chunk", "local_", "global_"}},
	{"residual streams of another kind", []string{"hyper", "hc_", "residual"}},
}

// unread returns every field that nothing read, in order: of the decoder, and of what stands around it.
func (c *config) unread() []Unread {
	all := c.fields.unread()
	for _, around := range c.around {
		all = append(all, around.unreadAround(c.fields)...)
	}
	return all
}

// unread returns the fields of an object that nothing read, and those inside of objects that have no word of the shape
// in their names.
func (f *fields) unread() []Unread {
	var all []Unread
	for _, key := range f.keys() {
		if f.used[key] {
			continue
		}
		u := f.classified(key)
		all = append(all, u)
		if u.Class == Unnamed {
			all = append(all, f.unreadInside(key)...)
		}
	}
	return all
}

// unreadInside returns what speaks of the shape in an object, or in a list of them.
func (f *fields) unreadInside(key string) (all []Unread) {
	var list []json.RawMessage
	if json.Unmarshal(f.raw[key], &list) != nil {
		list = []json.RawMessage{f.raw[key]}
	}
	for _, data := range list {
		inner, err := newFields(f.path+key+".", data)
		if err != nil {
			continue // a value
		}
		for _, u := range inner.unread() {
			if u.Class == NeedsCapability || u.Class == Unknown {
				all = append(all, u)
			}
		}
	}
	return all
}

// otherModalities are words of fields around a decoder that speak of what is no text.
var otherModalities = [...]string{"vision", "visual", "image", "video", "audio", "speech", "patch", "projector",
	"merge", "tower", "mm_", "media", "pixel", "talker", "vocoder", "code2wav", "tts", "mlp", "lora"}

// unreadAround returns the fields beside a nested decoder that nothing read. Those of other modalities, and those that
// repeat the decoder's own, are harmless.
func (f *fields) unreadAround(decoder *fields) []Unread {
	var all []Unread
	for _, u := range f.unread() {
		key := strings.TrimPrefix(u.Key, f.path)
		other := func(word string) bool { return strings.Contains(strings.ToLower(key), word) }
		own, ok := decoder.raw[key]
		if slices.ContainsFunc(otherModalities[:], other) || ok && string(own) == string(f.raw[key]) {
			u.Class, u.Needs = Harmless, ""
		}
		all = append(all, u)
	}
	return all
}

// formats are words of fields that say how weights are stored.
var formats = [...]string{"bit", "dtype", "sparsity", "codebook", "rank", "group", "block", "scheme", "format"}

// unreadFormat returns the fields of a quantisation that nothing read.
func (f *fields) unreadFormat() []Unread {
	var all []Unread
	for _, key := range f.keys() {
		if f.used[key] {
			continue
		}
		u := Unread{Key: f.path + key, Value: f.show(key), Class: Unnamed}
		word := func(w string) bool { return strings.Contains(strings.ToLower(key), w) }
		switch {
		case f.trivial(key), slices.Contains(harmlessFormats[:], key):
			u.Class = Harmless
		case slices.ContainsFunc(formats[:], word):
			u.Class = Unknown
		}
		all = append(all, u)
	}
	return all
}

func (f *fields) classified(key string) Unread {
	u := Unread{Key: f.path + key, Value: f.show(key), Class: Unknown}
	switch {
	case f.trivial(key), knownHarmless(key):
		u.Class = Harmless
	case !speaksOfShape(key):
		u.Class = Unnamed
	default:
		for _, x := range capabilities {
			if slices.ContainsFunc(x.words, func(w string) bool { return strings.Contains(strings.ToLower(key), w) }) {
				u.Class, u.Needs = NeedsCapability, x.needs
				return u
			}
		}
	}
	return u
}

// NotUnderstood is the error of a config with fields that have a value, speak of the shape, and that nothing read. It
// carries what the config counts without them, for who wants to compare that with what is published; no plan is made of
// such a model.
type NotUnderstood struct {
	Without Reading
	says    string
}

func (e *NotUnderstood) Error() string { return e.says }

// refuseUnread names every field that nothing read, by its class, if one of them is not understood; empty: none is.
func refuseUnread(unread []Unread) string {
	var all, harmless, unnamed []string
	for _, u := range unread {
		switch u.Class {
		case NeedsCapability:
			all = append(all, fmt.Sprintf("%s is %s (needs %s)", u.Key, u.Value, u.Needs))
		case Unknown:
			all = append(all, fmt.Sprintf("%s is %s (unknown)", u.Key, u.Value))
		case Unnamed:
			unnamed = append(unnamed, u.Key)
		default:
			harmless = append(harmless, u.Key)
		}
	}
	what := "this field is"
	switch len(all) {
	case 0:
		return ""
	case 1:
	default:
		what = fmt.Sprintf("these %d fields are", len(all))
	}
	says := fmt.Sprintf("%s: %s not understood and could change the cost; false, 0, null or absence is accepted",
		strings.Join(all, ", "), what)
	if len(unnamed) > 0 {
		says += "; not read, but " + string(Unnamed) + ": " + strings.Join(unnamed, ", ")
	}
	if len(harmless) > 0 {
		says += "; not read, but " + string(Harmless) + ": " + strings.Join(harmless, ", ")
	}
	return says
}
