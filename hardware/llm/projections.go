package llm

// addParams adds the parameters of one layer's attention. With h the hidden size, a heads, g KV heads, k and v the head
// widths:
//
//	queries, keys and values  h·a·k + h·g·(k + v)    (the query matrix twice with an output gate, no v where the
//	                          value is the key's), or as latent attention has them
//	output                    a·v·h, or over m groups in two steps of rank r_o: a·v·r_o + m·r_o·h
//	gate on each head         h·a
func (s SelfAttention) addParams(h int64, c *Counts) {
	if s.Heads == 0 {
		return
	}
	a, g := int64(s.Heads), int64(s.KVHeads)
	k, v := int64(s.KeyDim), int64(s.ValueDim)
	if s.Latent.Rank > 0 {
		s.addLatentParams(h, c)
	} else {
		in := a*k*int64(1+boolToInt(s.OutputGate)) + g*k
		if !s.ValueFromKey {
			in += g * v
		}
		c[Attention] += h * in
		if s.QKVBias {
			c[Attention] += in
		}
	}
	if r := int64(s.OutputRank); r > 0 {
		c[Attention] += a*v*r + int64(s.OutputGroups)*r*h
	} else {
		c[Attention] += a * v * h
	}
	if s.OutputBias {
		c[Attention] += h
	}
	if s.HeadGate {
		c[Attention] += h * a
	}
	if s.Sinks {
		c[Attention] += a
	}
	switch s.QKNorm {
	case QKNormPerHead:
		c[Norms] += 2 * k
	case QKNormAllHeads:
		c[Norms] += (a + g) * k
	}
	s.addCompressionParams(h, c)
	s.addIndexParams(h, c)
}

// addLatentParams adds what makes queries, keys and values of latent attention. With r_q and r the ranks and p the
// rotary width:
//
//	expanded  h·r_q + r_q·a·(k + p) + h·(r + p) + r·a·(k + v), norms r_q + r;
//	          without r_q the first two are h·a·(k + p)
//	direct    the same with p = 0 and nothing to expand
//	gate      h·a·v
func (s SelfAttention) addLatentParams(h int64, c *Counts) {
	a, k, v := int64(s.Heads), int64(s.KeyDim), int64(s.ValueDim)
	rq, r, p := int64(s.Latent.QueryRank), int64(s.Latent.Rank), int64(s.Latent.RopeDim)
	if s.Latent.Direct {
		p = 0
	} else {
		c[Attention] += r * a * (k + v)
	}
	c[AttentionReplicated] += h * (r + p)
	c[Norms] += r + rq
	if s.OutputGate {
		c[Attention] += h * a * v
	}
	if s.QKVBias {
		c[AttentionReplicated] += r + p
	}
	if rq == 0 {
		c[Attention] += h * a * (k + p)
		return
	}
	c[AttentionReplicated] += h * rq
	c[Attention] += rq * a * (k + p)
	if s.QKVBias {
		c[AttentionReplicated] += rq
	}
}

// params counts what makes entries of d elements from ratio tokens of h: values and their weights within the entry, an
// offset of the weights by position, and a norm. With o = 2 where entries overlap, and else 1:
//
//	2·h·o·d + ratio·o·d + d
func (x Compression) params(h, d int64) int64 {
	wide := d * int64(1+boolToInt(x.Overlap))
	return 2*h*wide + int64(x.Ratio)*wide + d
}

func (s SelfAttention) addCompressionParams(h int64, c *Counts) {
	if s.Compression.Ratio > 0 {
		c[Compressor] += s.Compression.params(h, int64(s.KeyDim))
	}
}

// addIndexParams adds an indexer of n heads of d:
//
//	of tokens   r_q·n·d + h·d + h·n, a LayerNorm of 2d on its key
//	of entries  r_q·n·d + a compressor of its own + h·n
//	of blocks   h·n·d + h·d, norms of d on queries and key
func (s SelfAttention) addIndexParams(h int64, c *Counts) {
	n, d, rq := int64(s.Index.Heads), int64(s.Index.Dim), int64(s.Latent.QueryRank)
	switch {
	case n == 0:
	case s.Compression.Ratio > 0:
		c[Indexer] += rq*n*d + h*n + s.Compression.params(h, d)
	case s.Index.Block > 0:
		c[Indexer] += h*n*d + h*d
		c[Norms] += 2 * d
	default:
		c[Indexer] += rq*n*d + h*d + h*n
		c[Norms] += 2 * d
	}
}
