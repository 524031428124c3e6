package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is the I-th of N parts of a sweep, counted from 1. The zero Shard is all of it.
type Shard struct {
	I int `json:"i"`
	N int `json:"n"`
}

const shardsMax = 1_000_000

// ParseShard reads i/n.
func ParseShard(text string) (Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	part, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || part < 1 || part > of || of > shardsMax {
		return Shard{}, fmt.Errorf("--shard %s: expected i/n with 1 ≤ i ≤ n ≤ %d, such as 1/4", text, shardsMax)
	}
	return Shard{part, of}, nil
}

// String implements fmt.Stringer.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// whole reports whether a shard is the whole sweep.
func (s Shard) whole() bool { return s.N == 0 }

// runs returns how many of n runs are of the shard.
func (s Shard) runs(n int) int {
	if s.whole() {
		return n
	}
	return (n - s.I + s.N) / s.N
}

// run returns the index in the sweep of the j-th run of the shard. Neighbours go to different shards: points near each
// other take about as long.
func (s Shard) run(j int) int {
	if s.whole() {
		return j
	}
	return s.I - 1 + j*s.N
}

// place returns which run of its shard the run k of the sweep is; false: it is of another shard.
func (s Shard) place(k int) (int, bool) {
	if s.whole() {
		return k, true
	}
	return (k - s.I + 1) / s.N, k%s.N == s.I-1
}
