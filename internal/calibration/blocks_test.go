package calibration

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestBlocksSolveWhatAFullMatrixDoes: runs of some groups each add squares to the blocks of their pairs.
func TestBlocksSolveWhatAFullMatrixDoes(t *testing.T) {
	const size, groups = 3, 12
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		var of [][]int
		for range 15 {
			of = append(of, r.Perm(groups)[:1+r.IntN(4)])
		}
		b := newBlocks(size, groups, func(link func(g, h int)) {
			for _, all := range of {
				for _, g := range all {
					link(all[0], g)
				}
			}
		})
		full, right := mat.NewSymDense(size*groups, nil), mat.NewVecDense(size*groups, nil)
		for i := range size * groups {
			b.of(i/size, i/size)[i%size*size+i%size] = 0.1
			full.SetSym(i, i, 0.1)
		}
		for _, all := range of {
			square, down := make([]float64, size*size), make([]float64, size)
			for range 2 {
				s := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
				for p := range s {
					down[p] += s[p]
					for q := range s {
						square[p*size+q] += s[p] * s[q]
					}
				}
			}
			b.add(all, square, down)
			for _, g := range all {
				for p := range size {
					right.SetVec(g*size+p, right.AtVec(g*size+p)+down[p])
					for _, h := range all {
						for q := range size {
							if i, j := g*size+p, h*size+q; i <= j {
								full.SetSym(i, j, full.At(i, j)+square[p*size+q])
							}
						}
					}
				}
			}
		}
		var chol mat.Cholesky
		var want mat.VecDense
		require.True(t, chol.Factorize(full))
		require.NoError(t, chol.SolveVecTo(&want, right))
		x, ok := b.solve()
		require.True(t, ok)
		for i := range x {
			assert.InDelta(t, want.AtVec(i), x[i], 1e-9, "seed %d, step %d", seed, i)
		}
	}
}

func TestBlocksOfNoMinimumAreRefused(t *testing.T) {
	b := newBlocks(2, 1, func(func(g, h int)) {})
	copy(b.of(0, 0), []float64{1, 2, 2, 1})
	_, ok := b.solve()
	assert.False(t, ok)
}
