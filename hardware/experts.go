package hardware

import "math"

// active returns the expected share of an MoE layer's experts that rows tokens touch when each picks k of E at random:
// 1 − (1 − k/E)^rows.
func (d *Deployment) active(rows float64) float64 {
	e, k := d.Model.Experts(), d.Model.TopK()
	if e == 0 || k == e {
		return 1
	}
	return -math.Expm1(rows * math.Log1p(-float64(k)/float64(e)))
}

// padding returns by what the arithmetic of expert products is longer than that of full tiles: at least 1, less than 2.
//
// An expert multiplies the rows that are routed to it in tiles, of 64 or 128 rows where there are many. A last tile
// that is not full takes as long as a full one, so where kernels choose the tile by the rows, half of the work is
// padding at worst. M tokens that pick k of E touch a share A(M) of the experts, each with r rows on average; at R rows
// half of that loss is left:
//
//	padding(r) = 1 + R / (r + R)          r = k·M / (E·A(M))
//
// It falls slower than 1/r, so more rows never take less time. R is moe_rows; 0: few rows lose nothing. The form and R
// are chosen, not fitted: of 128 rows with such a loss and of 128 and 256 rows with three times as much, all of which
// lower the errors of TTFT on deployments and models left out of the fit of docs/accuracy.md, this one costs the errors
// of TPOT under open load least.
func (d *Deployment) padding(tokens, active float64) float64 {
	rows := d.Efficiency.MoERows
	if rows == 0 || tokens == 0 {
		return 1
	}
	perExpert := tokens * float64(d.Model.TopK()) / (float64(d.Model.Experts()) * active)
	return 1 + rows/(perExpert+rows)
}

// expertShare returns the part of the routed experts that the fullest GPU holds: an even slice of all, or whole ones.
func (d *Deployment) expertShare() float64 {
	n, e := float64(d.Parallel.expertGPUs()), float64(d.Model.Experts())
	if d.Parallel.Expert && e > 0 {
		return math.Ceil(e/n) / e
	}
	return 1 / n
}

// expertProducts returns the time of the expert products of a step: reading the experts that the tokens of all ranks
// touch, and that overlapped with the arithmetic, padded to tiles.
func (r *Roofline) expertProducts(l *load) (weights, products float64) {
	active := r.d.active(l.tokens)
	weights = float64(r.experts.memoryPS * active)
	return weights, r.both(weights, float64(l.tokens*r.experts.rowPS)*r.d.padding(l.tokens, active))
}

// reads returns the time of reading all weights that so many tokens over all ranks touch.
func (r *Roofline) reads(tokens float64) float64 {
	return r.readPS + float64(r.experts.memoryPS*r.d.active(tokens))
}
