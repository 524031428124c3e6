package clock

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTournamentAgainstAScan: the earliest instant and the lowest index that has it, for any number of instances.
func TestTournamentAgainstAScan(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 1))
	for n := 1; n < 40; n++ {
		base := int32(rnd.IntN(5))
		tree, at := NewTournament(base, n), make([]Time, n)
		for i := range at {
			at[i] = Forever
		}
		for range 300 {
			i := rnd.IntN(n)
			at[i] = Time(rnd.IntN(6)) // few values, so that ties are common
			if rnd.IntN(4) == 0 {
				at[i] = Forever
			}
			tree.Set(base+int32(i), at[i])
			first := 0
			for k := range at {
				if at[k] < at[first] {
					first = k
				}
			}
			earliest, who := tree.Min()
			require.Equal(t, [2]int64{int64(at[first]), int64(first)}, [2]int64{int64(earliest), int64(who - base)})
		}
	}
}
