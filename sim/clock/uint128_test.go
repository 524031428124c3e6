package clock

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLongSumsAreExact, with carries between their words.
func TestLongSumsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var a, b Uint128
	want := new(big.Int)
	for range 1000 {
		x, y, z := random.Uint64()>>1, random.Uint64()>>12, random.Uint64()
		a.AddProduct(x, y)
		b.AddOne(z)
		want.Add(want, new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y)))
		want.Add(want, new(big.Int).SetUint64(z))
	}
	a.Add(b)
	got := new(big.Int).Lsh(new(big.Int).SetUint64(a.Hi), 64)
	require.Equal(t, want, got.Add(got, new(big.Int).SetUint64(a.Lo)))
	float, _ := new(big.Float).SetInt(want).Float64()
	assert.InEpsilon(t, float, a.Float(), 1e-15)
}
