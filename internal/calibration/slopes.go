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

// gradient of the loss.
func (f *Fit) gradient(grad, x []float64) {
	f.linearize(x)
	n := len(f.Parameters)
	for i, s := range x {
		grad[i] = 2 * f.penalty(i) * s
	}
	for i, r := range f.Runs {
		for j, d := range f.residual[i] {
			k := r.pull(j, d) * d
			for _, g := range r.groups {
				floats.AddScaled(grad[g*n:(g+1)*n], k, f.slopes[i][j*n:(j+1)*n])
			}
		}
	}
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
	raw := h.RawSymmetric()
	for i, r := range f.Runs {
		for j, d := range f.residual[i] {
			addSquare(raw.Data, raw.Stride, r.groups, f.slopes[i][j*n:(j+1)*n], r.pull(j, d))
		}
	}
}

// addSquare adds k·s·sᵀ at every pair of groups, in the upper triangle.
func addSquare(h []float64, stride int, groups []int, s []float64, k float64) {
	n := len(s)
	for _, g := range groups {
		for _, q := range groups {
			for a, sa := range s {
				row := h[(g*n+a)*stride:]
				for b := range n {
					if q*n+b >= g*n+a {
						row[q*n+b] += float64(k * sa * s[b])
					}
				}
			}
		}
	}
}

// relax returns the steps that minimise the loss over the runs whose weight is not 0 in weights, with residuals taken
// to be linear around where they were taken: a few rounds of least squares, each with the pulls of the one before.
func (f *Fit) relax(weights []float64) []float64 {
	x := slices.Clone(f.steps)
	for range 5 {
		h, b := f.normal(x, weights)
		var chol mat.Cholesky
		if !chol.Factorize(h) {
			panic("calibrate: a penalised least squares has one minimum")
		}
		var step mat.VecDense
		if err := chol.SolveVecTo(&step, b); err != nil {
			break // ill-conditioned: the steps so far are the best to be had
		}
		for i := range x {
			x[i] += step.AtVec(i)
		}
	}
	return x
}

// normal returns the curvature of the linear loss at x, and its slope downwards.
func (f *Fit) normal(x, weights []float64) (*mat.SymDense, *mat.VecDense) {
	m, n := len(x), len(f.Parameters)
	h, b := mat.NewSymDense(m, nil), mat.NewVecDense(m, nil)
	for i := range x {
		h.SetSym(i, i, 2*f.penalty(i))
		b.SetVec(i, -2*f.penalty(i)*x[i])
	}
	raw := h.RawSymmetric()
	for i, r := range f.Runs {
		if weights[i] == 0 {
			continue
		}
		moved := f.sum(r.groups, x)
		for p, at := range f.sum(r.groups, f.at) {
			moved[p] -= at
		}
		for j, d := range f.residual[i] {
			s := f.slopes[i][j*n : (j+1)*n]
			d += floats.Dot(s, moved)
			k := r.pull(j, d)
			addSquare(raw.Data, raw.Stride, r.groups, s, k)
			for _, g := range r.groups {
				floats.AddScaled(b.RawVector().Data[g*n:(g+1)*n], -k*d, s)
			}
		}
	}
	return h, b
}
