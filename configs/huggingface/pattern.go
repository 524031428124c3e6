package huggingface

import "strings"

// mixerKind is how a layer mixes tokens.
type mixerKind uint8

const (
	mixFull mixerKind = iota
	mixSliding
	mixChunked
	mixDelta
	mixKDA
	mixMamba
	mixNone
)

// mixerKinds says for every layer how it mixes tokens. Lists are believed before intervals, and intervals before the
// family's habit.
func (c *config) mixerKinds() []mixerKind {
	switch {
	case c.has("linear_attn_config"):
		return c.kimiLayers()
	case c.blocks != "":
		return c.blockPattern()
	case c.has("layer_types"):
		return c.layerTypes()
	case c.has("hybrid_layer_pattern"):
		return c.slidingFlags()
	case c.has("full_attention_interval"):
		return c.interval()
	}
	c.attentionTypes()
	return c.windowPattern()
}

// every gives all layers one kind, but each n-th another; 0: none.
func (c *config) every(kind mixerKind, n int, other mixerKind) []mixerKind {
	out := make([]mixerKind, c.layers)
	for i := range out {
		out[i] = kind
		if n > 0 && (i+1)%n == 0 {
			out[i] = other
		}
	}
	return out
}

// blockPattern reads a letter per block: M Mamba-2, * attention, E experts, - dense network.
func (c *config) blockPattern() []mixerKind {
	out := c.every(mixNone, 0, mixNone)
	if len(c.blocks) != c.layers {
		c.fail("hybrid_override_pattern", "has %d letters; want num_hidden_layers, %d", len(c.blocks), c.layers)
		return out
	}
	for i, letter := range c.blocks {
		switch letter {
		case 'M':
			out[i] = mixMamba
		case '*':
			out[i] = mixFull
		case 'E', '-':
		default:
			c.fail("hybrid_override_pattern", "letter %q is not understood; M, *, E and - are", letter)
		}
	}
	return out
}

// layerTypes reads a name per layer.
func (c *config) layerTypes() []mixerKind {
	out := c.every(mixFull, 0, mixFull)
	types := c.texts("layer_types")
	if n := c.count(0, "num_nextn_predict_layers"); len(types) == c.layers+n {
		types = types[:c.layers] // those of the MTP modules follow
	}
	c.count(0, "full_attention_interval")
	c.windowKeys()
	if c.err == nil && len(types) != c.layers {
		c.fail("layer_types", "has %d entries; want num_hidden_layers, %d", len(types), c.layers)
	}
	if c.err != nil {
		return out
	}
	for i, t := range types {
		switch t {
		case "full_attention", "attention", "deepseek_sparse_attention":
		case "sliding_attention":
			out[i] = mixSliding
		case "chunked_attention":
			out[i] = mixChunked
		case "linear_attention":
			out[i] = mixDelta
		case "mamba", "mamba2":
			out[i] = mixMamba
		default:
			c.fail("layer_types", "entry %q is not understood; full_attention, sliding_attention, chunked_attention, "+
				"linear_attention and mamba are", t)
			return out
		}
		if out[i] == mixSliding && c.count(0, "sliding_window", "sliding_window_size", "window_size") == 0 {
			c.fail("sliding_window", "layer_types has sliding layers; want a width ≥ 1")
		}
		if out[i] == mixChunked && (!c.family.chunked || c.count(0, "attention_chunk_size") == 0) {
			c.fail("layer_types", "chunked_attention is understood in Llama 4 with attention_chunk_size ≥ 1")
		}
	}
	c.chunkKeys()
	return out
}

// slidingFlags reads a list of 0 (full) and 1 (sliding); the chunk size beside it repeats the window.
func (c *config) slidingFlags() []mixerKind {
	out := c.every(mixFull, 0, mixFull)
	flags := c.counts("hybrid_layer_pattern")
	chunk, window := c.count(0, "attention_chunk_size"), c.count(0, "sliding_window", "sliding_window_size")
	if c.err == nil && len(flags) != c.layers {
		c.fail("hybrid_layer_pattern", "has %d entries; want num_hidden_layers, %d", len(flags), c.layers)
	}
	if c.err == nil && chunk != 0 && chunk != window {
		c.fail("attention_chunk_size", "want the sliding window, %d, or none", window)
	}
	if c.err != nil {
		return out
	}
	for i, f := range flags {
		switch {
		case f == 1 && window > 0:
			out[i] = mixSliding
		case f == 1:
			c.fail("sliding_window", "hybrid_layer_pattern has sliding layers; want a width ≥ 1")
		case f != 0:
			c.fail("hybrid_layer_pattern", "entry %d is not understood; 0 (full) and 1 (sliding) are", f)
		}
	}
	return out
}

// interval reads linear attention in all but every n-th layer.
func (c *config) interval() []mixerKind {
	n := c.required("full_attention_interval")
	c.windowKeys()
	if c.err == nil && n > 1 && !c.has("linear_num_value_heads") {
		c.fail("full_attention_interval", "without layer_types it is understood with linear_num_value_heads only")
	}
	if n == 1 {
		return c.every(mixFull, 0, mixFull)
	}
	return c.every(mixDelta, n, mixFull)
}

// attentionTypes refuses any attention but softmax in MiniMax's list.
func (c *config) attentionTypes() {
	list := c.counts("attn_type_list")
	if c.err == nil && len(list) != 0 && len(list) != c.layers {
		c.fail("attn_type_list", "has %d entries; want num_hidden_layers, %d", len(list), c.layers)
	}
	for i, t := range list {
		if t != 1 {
			c.fail("attn_type_list", "entry %d is %d; only 1, softmax attention, is understood", i, t)
			return
		}
	}
}

// windowPattern finds which layers slide or restart when no list says so.
func (c *config) windowPattern() []mixerKind {
	if c.family.chunked {
		return c.chunks()
	}
	c.chunkKeys()
	on := c.flag(!c.family.slideOff, "use_sliding_window")
	first := c.count(0, "max_window_layers")
	every := c.slideEvery()
	c.windowKeys()
	if !on || c.window() == 0 {
		return c.every(mixFull, 0, mixFull)
	}
	out := c.every(mixSliding, every, mixFull)
	if c.family.slideOff { // the first max_window_layers layers do not slide
		for i := range min(first, c.layers) {
			out[i] = mixFull
		}
	}
	return out
}

// slideEvery is the n of "every n-th layer is full"; 0: none is. A string spells one period, L sliding and G full.
func (c *config) slideEvery() int {
	for _, key := range []string{"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"} {
		if !c.isText(key) {
			if n := c.count(0, key); n > 0 {
				c.windowKeys()
				return n
			}
			continue
		}
		period := c.text("", key)
		if strings.Trim(strings.TrimSuffix(period, "G"), "L") != "" || !strings.HasSuffix(period, "G") {
			c.fail(key, "understood are a whole number and a period such as LLLG")
		}
		return len(period)
	}
	return c.family.slideEvery
}

// windowKeys marks the fields that only speak of windows; layer_types has said which layers have one.
func (c *config) windowKeys() {
	for _, key := range []string{"sliding_window", "sliding_window_size", "window_size", "use_sliding_window",
		"max_window_layers",
		"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"} {
		c.has(key)
	}
}

// chunkKeys marks the fields about position-free layers, and refuses a chunk size that nothing here uses.
func (c *config) chunkKeys() {
	c.has("no_rope_layers")
	c.has("no_rope_layer_interval")
	if c.count(0, "attention_chunk_size") > 0 && !c.family.chunked {
		c.fail("attention_chunk_size", "chunked attention is understood in Llama 4 only")
	}
}

// chunks reads Llama 4: layers with rotary positions restart at every chunk, the others (flag 0) are full. Without
// flags every fourth is full.
func (c *config) chunks() []mixerKind {
	interval := c.count(4, "no_rope_layer_interval")
	flags := c.counts("no_rope_layers")
	if c.count(0, "attention_chunk_size") == 0 {
		return c.every(mixFull, 0, mixFull)
	}
	if len(flags) == 0 {
		return c.every(mixChunked, interval, mixFull)
	}
	out := c.every(mixChunked, 0, mixFull)
	if len(flags) != c.layers {
		c.fail("no_rope_layers", "has %d entries; want num_hidden_layers, %d, or none", len(flags), c.layers)
		return out
	}
	for i, f := range flags {
		if f == 0 {
			out[i] = mixFull
		}
	}
	return out
}
