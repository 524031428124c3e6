package huggingface

import (
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
	{"embeddings per layer", []string{"per_layer", "altup", "laurel"}},
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

// unread returns every field of the decoder that nothing read, in order.
func (c *config) unread() []Unread {
	var all []Unread
	for _, key := range c.keys() {
		if !c.used[key] {
			all = append(all, c.classified(key))
		}
	}
	return all
}

func (c *config) classified(key string) Unread {
	u := Unread{Key: c.path + key, Value: c.show(key), Class: Unknown}
	switch {
	case c.trivial(key), knownHarmless(key):
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

// refuseUnread fails on all fields at once that have a value, speak of the shape, and that nothing read.
func refuseUnread(unread []Unread) error {
	var all []string
	harmless := 0
	for _, u := range unread {
		switch u.Class {
		case NeedsCapability:
			all = append(all, fmt.Sprintf("%s is %s (needs %s)", u.Key, u.Value, u.Needs))
		case Unknown:
			all = append(all, fmt.Sprintf("%s is %s (unknown)", u.Key, u.Value))
		default:
			harmless++
		}
	}
	what := "this field is"
	switch len(all) {
	case 0:
		return nil
	case 1:
	default:
		what = fmt.Sprintf("these %d fields are", len(all))
	}
	others := ""
	if harmless > 0 {
		others = fmt.Sprintf("; %d more that were not read are harmless", harmless)
	}
	return fmt.Errorf("%s: %s not understood and could change the cost; false, 0, null or absence is accepted%s",
		strings.Join(all, ", "), what, others)
}
