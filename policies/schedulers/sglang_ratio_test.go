package schedulers

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestARatioFallsFromWhereItWasSet: what is set is what is read, and each decode step takes the same from it, down to
// the least. One that is set below the least stays there until a step.
func TestARatioFallsFromWhereItWasSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Int64Range(0, RatioOne)
		p := &SGLang{InitNewTokenRatio: part.Draw(t, "first"), NewTokenRatioDecay: part.Draw(t, "decay") >> rapid.IntRange(0,
			50).Draw(t, "slow")}
		p.MinNewTokenRatio = rapid.Int64Range(0, p.InitNewTokenRatio).Draw(t, "least")
		in, from := new(sim.Instance), p.InitNewTokenRatio
		require.Equal(t, from, p.ratio(in))
		if rapid.Bool().Draw(t, "set") {
			from = part.Draw(t, "to")
			p.setRatio(in, from)
			require.Equal(t, from, p.ratio(in))
		}
		steps := rapid.Int64Range(1, 1<<40).Draw(t, "steps") >> rapid.IntRange(0, 40).Draw(t, "fewer")
		if p.NewTokenRatioDecay > 0 && rapid.Bool().Draw(t, "near the end") {
			steps = max(1, RatioOne/p.NewTokenRatioDecay+rapid.Int64Range(-1, 1).Draw(t, "of it"))
		}
		in.PolicyState[ratioStep] -= steps // as many steps later
		if steps == 0 {
			require.Equal(t, from, p.ratio(in))
			return
		}
		want := new(big.Int).Mul(big.NewInt(p.NewTokenRatioDecay), big.NewInt(steps))
		want.Sub(big.NewInt(from), want)
		if least := big.NewInt(p.MinNewTokenRatio); want.Cmp(least) < 0 {
			want = least
		}
		require.Equal(t, want.Int64(), p.ratio(in))
	})
}

// TestARatioIsRoundedDown, and is at most 1.
func TestARatioIsRoundedDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<50).Draw(t, "tokens") >> rapid.IntRange(0, 50).Draw(t, "fewer")
		limits := rapid.Int64Range(1, 1<<50).Draw(t, "limits")>>rapid.IntRange(0, 50).Draw(t, "less") + 1
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(RatioOne))
		want.Quo(want, big.NewInt(limits))
		if one := big.NewInt(RatioOne); want.Cmp(one) > 0 {
			want = one
		}
		require.Equal(t, want.Int64(), ratioOf(n, limits))
	})
	require.EqualValues(t, RatioOne, ratioOf(7, 7))
	require.EqualValues(t, RatioOne, ratioOf(20_000, 1), "more than 64 bits hold")
	require.EqualValues(t, RatioOne/2, ratioOf(1, 2))
	require.EqualValues(t, 700_000_000_000_000, Ratio(0.7))
}
