package calibration

import (
	"cmp"
	"math"
	"slices"
)

// blocks is a symmetric matrix of blocks of one size, those that are not 0, and a right-hand side. A run is of few
// groups, so that the curvature of a loss has blocks for few pairs of groups; eliminated in an order that fills few
// more, it is solved in a tenth of the time that a full matrix takes.
type blocks struct {
	size  int // of a block
	order []int
	place []int // of a group in the order
	at    [][][]float64
	right []float64 // by group
}

// newBlocks returns a matrix of groups of which pairs are linked: those with the fewest neighbours come first.
func newBlocks(size, groups int, linked func(link func(g, h int))) *blocks {
	b := &blocks{size: size, order: make([]int, groups), place: make([]int, groups), at: make([][][]float64, groups),
		right: make([]float64, groups*size)}
	neighbours := make([]map[int]bool, groups)
	for g := range groups {
		b.order[g], neighbours[g] = g, map[int]bool{}
	}
	linked(func(g, h int) {
		if g != h {
			neighbours[g][h], neighbours[h][g] = true, true
		}
	})
	slices.SortStableFunc(b.order, func(g, h int) int { return cmp.Compare(len(neighbours[g]), len(neighbours[h])) })
	for i, g := range b.order {
		b.place[g] = i
		b.at[i] = make([][]float64, i+1)
	}
	return b
}

// of returns the block of two groups, which is the same transposed.
func (b *blocks) of(g, h int) []float64 {
	return b.in(max(b.place[g], b.place[h]), min(b.place[g], b.place[h]))
}

// in returns a block by its place, a new one if there was none.
func (b *blocks) in(i, j int) []float64 {
	if b.at[i][j] == nil {
		b.at[i][j] = make([]float64, b.size*b.size)
	}
	return b.at[i][j]
}

// solve returns x of A·x = right, by a Cholesky decomposition of A = L·Lᵀ in place; false: A is not positive definite.
func (b *blocks) solve() (x []float64, ok bool) {
	n, groups := b.size, len(b.order)
	for k := range groups {
		diagonal := b.in(k, k)
		if !decompose(diagonal, n) {
			return nil, false
		}
		var below []int
		for i := k + 1; i < groups; i++ {
			if b.at[i][k] != nil {
				below = append(below, i)
				divide(b.at[i][k], diagonal, n)
			}
		}
		for p, i := range below {
			for _, j := range below[:p+1] {
				subtractProduct(b.in(i, j), b.at[i][k], b.at[j][k], n)
			}
		}
	}
	x = make([]float64, len(b.right))
	for i, g := range b.order {
		to := x[g*n : (g+1)*n]
		copy(to, b.right[g*n:(g+1)*n])
		for j := range i {
			if l := b.at[i][j]; l != nil {
				subtract(to, l, x[b.order[j]*n:], n)
			}
		}
		forward(to, b.at[i][i], n)
	}
	for i := groups - 1; i >= 0; i-- {
		g := b.order[i]
		to := x[g*n : (g+1)*n]
		for j := i + 1; j < groups; j++ {
			if l := b.at[j][i]; l != nil {
				subtractTransposed(to, l, x[b.order[j]*n:], n)
			}
		}
		backward(to, b.at[i][i], n)
	}
	return x, true
}

// decompose makes a the lower triangle l of a = l·lᵀ.
func decompose(a []float64, n int) bool {
	for j := range n {
		row := a[j*n : j*n+j]
		d := a[j*n+j] - dot(row, row)
		if !(d > 0) {
			return false
		}
		root := math.Sqrt(d)
		a[j*n+j] = root
		for i := j + 1; i < n; i++ {
			a[i*n+j] = (a[i*n+j] - dot(a[i*n:i*n+j], row)) / root
		}
	}
	return true
}

// divide makes a the x of x·lᵀ = a.
func divide(a, l []float64, n int) {
	for i := range n {
		forward(a[i*n:(i+1)*n], l, n)
	}
}

// forward makes v the x of l·x = v.
func forward(v, l []float64, n int) {
	for j := range n {
		v[j] = (v[j] - dot(l[j*n:j*n+j], v[:j])) / l[j*n+j]
	}
}

// backward makes v the x of lᵀ·x = v.
func backward(v, l []float64, n int) {
	for j := n - 1; j >= 0; j-- {
		v[j] /= l[j*n+j]
		for i, by := range l[j*n : j*n+j] {
			v[i] -= float64(by * v[j])
		}
	}
}

// subtractProduct takes a·bᵀ from c.
func subtractProduct(c, a, b []float64, n int) {
	for i := range n {
		row := a[i*n : (i+1)*n]
		for j := range n {
			c[i*n+j] -= dot(row, b[j*n:(j+1)*n])
		}
	}
}

// subtract takes l·x from v, and subtractTransposed lᵀ·x.
func subtract(v, l, x []float64, n int) {
	for i := range n {
		v[i] -= dot(l[i*n:(i+1)*n], x[:n])
	}
}

func subtractTransposed(v, l, x []float64, n int) {
	for i := range n {
		for j, by := range l[i*n : (i+1)*n] {
			v[j] -= float64(by * x[i])
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}
