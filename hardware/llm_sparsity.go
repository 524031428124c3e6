package hardware

import "fmt"

// Sparsities are the patterns of structured weight sparsity that are modelled.
func Sparsities() []string { return []string{"2:4"} }

// WithSparsity is m with the weights of its linear classes pruned to two of every four, so that a weight of b bits takes
//
//	b/2 + 1 bits: half of the values, and 2 bits of index for each of them
//
// (Mishra et al., Accelerating Sparse Deep Neural Networks, arXiv 2104.08378, §3.1). Scales shrink with the values. The
// classes are those that WithWeights quantizes, and it undoes this: sparsity comes after.
func (m LLM) WithSparsity(pattern string) (LLM, error) {
	if pattern != "2:4" {
		return LLM{}, fmt.Errorf("hardware: weight_sparsity %q not known; have 2:4", pattern)
	}
	for c := range NumClasses {
		if f := &m.Precision.Weights[c]; c.Quantizable() && !f.Sparse {
			f.Bits, f.Sparse = f.Bits/2+1, true
		}
	}
	return m, nil
}

// rate returns the peak of a matrix product with weights in format f.
func (g GPU) rate(f Format) (float64, error) {
	peak, dtype := g.ComputeFLOPS(f.Dtype)
	if !f.Sparse {
		return peak, nil
	}
	field, ratio := g.sparseRatio(dtype)
	if !ratio.Known() {
		return 0, fmt.Errorf("hardware: weight_sparsity 2:4, but gpu %q has no known unit for it in %s: no source states its %s; accepted: null",
			g.Name, dtype, field)
	}
	return peak * ratio.Value, nil
}

// sparseRatio returns the ratio that counts for products in a number format, and its YAML path.
func (g GPU) sparseRatio(dtype string) (path string, ratio Quantity) {
	if dtype == "fp4" {
		return "sparse_ratio_fp4", g.SparseRatioFP4
	}
	return "sparse_ratio", g.SparseRatio
}
