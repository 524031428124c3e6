package llm

// FFN is the feed-forward part of a layer: one dense network (Width), a mixture of experts (Experts), both side by
// side, or none. A network is gated, of three matrices, or plain, of two.
type FFN struct {
	Width       int  `yaml:"width"`
	Plain       bool `yaml:"plain"`
	Bias        bool `yaml:"bias"`    // on every matrix of the dense network or the routed experts
	Experts     int  `yaml:"experts"` // routed experts; 0: dense
	ExpertWidth int  `yaml:"expert_width"`
	Latent      int  `yaml:"latent"`       // width at which routed experts read and write, between two projections; 0: the hidden size
	LatentNorm  bool `yaml:"latent_norm"`  // a norm of that width
	TopK        int  `yaml:"top_k"`        // routed experts a token uses
	SharedWidth int  `yaml:"shared_width"` // of all shared experts together
	SharedGate  bool `yaml:"shared_gate"`  // a scalar gate on the shared experts
	RouterBias  bool `yaml:"router_bias"`  // a bias or a score correction, one per expert
	Groups      int  `yaml:"groups"`       // equal parts of the experts, of which a token uses those of the best; 0: one
	TopGroups   int  `yaml:"top_groups"`   // the groups that a token uses
}

// network counts one network of the given width: 3·h·w gated, 2·h·w plain; biases 2w + h or w + h.
func (f FFN) network(h, width int64, bias bool) int64 {
	in := int64(2)
	if f.Plain {
		in = 1
	}
	n := (in + 1) * h * width
	if bias {
		n += in*width + h
	}
	return n
}

// expert counts one routed expert, in a model of hidden size h.
func (f FFN) expert(h int64) int64 { return f.network(f.expertHidden(h), int64(f.ExpertWidth), f.Bias) }

// expertHidden is the width at which routed experts read and write.
func (f FFN) expertHidden(h int64) int64 {
	if f.Latent > 0 {
		return int64(f.Latent)
	}
	return h
}

func (f FFN) addParams(h int64, c *Counts) {
	if f.Width > 0 {
		c[DenseFFN] += f.network(h, int64(f.Width), f.Bias)
	}
	if f.Experts == 0 {
		return
	}
	c[RoutedExperts] += int64(f.Experts) * f.expert(h)
	c[Router] += h * int64(f.Experts)
	if f.RouterBias {
		c[Router] += int64(f.Experts)
	}
	if f.SharedWidth > 0 {
		c[SharedExperts] += f.network(h, int64(f.SharedWidth), false)
	}
	if f.SharedGate {
		c[SharedExperts] += h
	}
	c[ExpertProjections] += 2 * h * int64(f.Latent)
	if f.LatentNorm {
		c[Norms] += int64(f.Latent)
	}
}
