package calibration

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/decodesim/decodesim/internal/run"
)

// slopeStep is how far a parameter is moved to either side for a derivative, in the logarithm.
const slopeStep = 0.02

// far is how far a parameter is moved to see whether a run depends on it at all: one of a model without experts does
// not depend on theirs.
const far = 4

// linearize takes residuals and their slopes at x, unless that is where they were taken last.
func (f *Fit) linearize(x []float64) {
	if slices.Equal(f.at, x) && len(f.residual) == len(f.Runs) {
		return
	}
	f.at = slices.Clone(x)
	f.residual, f.slopes = make([][]float64, len(f.Runs)), make([][]float64, len(f.Runs))
	run.Each(len(f.Runs), func(i int) {
		if f.Runs[i].Weight > 0 {
			f.residual[i], f.slopes[i] = f.slopesOf(f.Runs[i], x)
		}
	})
}

func (f *Fit) slopesOf(r *Run, x []float64) (residuals, slopes []float64) {
	n := len(f.Parameters)
	at := f.sum(r.groups, x)
	beside := func(p int, step float64) []float64 {
		to := slices.Clone(at)
		to[p] += step
		return r.residuals(scale(f.Parameters, r.Prior, to))
	}
	residuals = r.residuals(scale(f.Parameters, r.Prior, at))
	slopes = make([]float64, len(residuals)*n)
	if r.flat == nil {
		r.flat = make([]bool, n)
		for p := range n {
			r.flat[p] = slices.Equal(beside(p, -far), residuals) && slices.Equal(beside(p, far), residuals)
		}
	}
	for p := range n {
		if r.flat[p] {
			continue
		}
		up, down := beside(p, slopeStep), beside(p, -slopeStep)
		for j := range residuals {
			slopes[j*n+p] = (up[j] - down[j]) / (2 * slopeStep)
		}
	}
	return residuals, slopes
}

// pull is the derivative of a residual's loss over the residual.
func (r *Run) pull(j int, d float64) float64 {
	w, c := r.term(j)
	return 2 * w / math.Sqrt(1+d*d/(c*c))
}

// curvature is the Hessian of the loss, were the residuals linear.
func (f *Fit) curvature(h *mat.SymDense, x []float64) {
	f.linearize(x)
	n := len(f.Parameters)
	h.Zero()
	for i := range x {
		h.SetSym(i, i, 2*f.penalty(i))
	}
	for i, r := range f.Runs {
		for j, d := range f.residual[i] {
			addSquare(h, r.sloping(f.slopes[i][j*n:(j+1)*n]), r.pull(j, d))
		}
	}
}

// slope is by how much a residual grows with the step at a place.
type slope struct {
	at int
	by float64
}

// sloping lists the slopes of a residual that are not 0, at the steps of all groups of the run.
func (r *Run) sloping(s []float64) []slope {
	var out []slope
	for _, g := range r.groups {
		for p, by := range s {
			if by != 0 {
				out = append(out, slope{g*len(s) + p, by})
			}
		}
	}
	return out
}

// addSquare adds k·s·sᵀ.
func addSquare(h *mat.SymDense, s []slope, k float64) {
	raw := h.RawSymmetric()
	for _, a := range s {
		row := raw.Data[a.at*raw.Stride:]
		for _, b := range s {
			if b.at >= a.at { // the upper triangle
				row[b.at] += float64(k * a.by * b.by)
			}
		}
	}
}

// relax returns the steps that minimise the loss over the runs whose weight is not 0 in weights, with residuals taken
// to be linear around where they were taken: a few rounds of least squares, each with the pulls of the one before.
// Steps that no residual depends on are held by the penalty alone.
func (f *Fit) relax(weights []float64) []float64 {
	x := slices.Clone(f.steps)
	for range 5 {
		step, ok := f.normal(x, weights).solve()
		if !ok {
			panic("calibrate: a penalised least squares has one minimum")
		}
		floats.Add(x, step)
	}
	return x
}

// normal returns the curvature of the linear loss at x, and its slope downwards.
func (f *Fit) normal(x, weights []float64) *blocks {
	n := len(f.Parameters)
	b := newBlocks(n, len(f.Groups), func(link func(g, h int)) {
		for _, r := range f.Runs {
			for i, g := range r.groups {
				for _, h := range r.groups[:i] {
					link(g, h)
				}
			}
		}
	})
	for i, s := range x {
		g, p := i/n, i%n
		own := b.of(g, g)
		own[p*n+p] = 2 * f.penalty(i)
		b.right[i] = -2 * f.penalty(i) * s
	}
	square, down := make([]float64, n*n), make([]float64, n)
	for i, r := range f.Runs {
		if weights[i] == 0 {
			continue
		}
		clear(square)
		clear(down)
		moved := f.sum(r.groups, x)
		floats.Sub(moved, f.sum(r.groups, f.at))
		for j, d := range f.residual[i] {
			s := f.slopes[i][j*n : (j+1)*n]
			d += floats.Dot(s, moved)
			k := r.pull(j, d)
			for p, by := range s {
				if by != 0 {
					floats.AddScaled(square[p*n:(p+1)*n], k*by, s)
				}
			}
			floats.AddScaled(down, -k*d, s)
		}
		b.add(r.groups, square, down)
	}
	return b
}

// add adds a symmetric block to all pairs of groups, and to the right of each.
func (b *blocks) add(groups []int, square, right []float64) {
	for i, g := range groups {
		floats.Add(b.right[g*b.size:(g+1)*b.size], right)
		for _, h := range groups[:i+1] {
			floats.Add(b.of(g, h), square)
		}
	}
}
