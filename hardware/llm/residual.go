package llm

// Residual is what carries activations from layer to layer where that is more than one vector that layers add to. The
// zero Residual is such a vector.
type Residual struct {
	// Streams is the number of parallel residual streams of hyper-connections: before each half of a layer they are mixed
	// into its input, and after it its output is mixed into them. 0: one, which is added to.
	Streams int `yaml:"streams"`

	// Block is the number of layers of a block of attention residuals: a half of a layer reads a weighted sum of the
	// outputs of all blocks before it and of what its own has come to. 0: there are none.
	Block int `yaml:"block"`
}

// params counts the weights in each layer and after the last one. With m streams of h, hyper-connections have for each
// half of a layer a matrix of all streams to the weights of m inputs, m outputs and m × m mixtures, their offsets and
// three scales; at the end, m inputs. Attention residuals have for each half, and at the end, a query and a norm of h:
//
//	hyper-connections    2·((2 + m)·m·m·h + (2 + m)·m + 3) per layer, m·m·h + m + 1 at the end
//	attention residuals  2·2h per layer, 2h at the end
func (x Residual) params(h int64) (layer, end int64) {
	if m := int64(x.Streams); m > 1 {
		layer, end = 2*((2+m)*m*m*h+(2+m)*m+3), m*m*h+m+1
	}
	if x.Block > 0 {
		layer, end = layer+4*h, end+2*h
	}
	return layer, end
}

// ResidualRowBytes is what a token's residual moves in bf16 over all layers, beyond reading one vector of h, its sum
// with what a layer yields, and writing that. With m streams, each half of a layer reads them and writes its input h,
// then reads its output h and the streams and writes the streams: (3m + 2)·h elements, of which a plain residual
// moves 3h. With attention residuals it reads the blocks before it, one vector of h each.
//
// Counted from the operations, fused as far as a half of a layer lets them be, and measured on no engine.
func (m Model) ResidualRowBytes() float64 {
	const halves, element = 2, 2
	elements := 0
	layers := m.LayerCount()
	if n := m.Residual.Streams; n > 1 {
		elements += layers * (3*n - 1)
	}
	if b := m.Residual.Block; b > 0 {
		for i := range layers {
			elements += i / b
		}
	}
	return float64(halves * element * elements * m.Hidden)
}
