package clock

// Tournament is a winner tree over a fixed number of instances, each of which has one instant: the end of its planned
// steps. An instant may move either way, and ties go to the lower index, so the order in which instants are set never
// decides anything.
type Tournament struct {
	at     []Time
	winner []int32 // winner[i] beats both children of node i; the leaves are implicit
	leaves int
	base   int32 // the instance of the first leaf
}

// NewTournament returns a tournament of n instances from number base on, each of them at Forever.
func NewTournament(base int32, n int) Tournament {
	size := 1
	for size < n {
		size *= 2
	}
	t := Tournament{at: make([]Time, size), winner: make([]int32, size), leaves: size, base: base}
	for i := range t.at {
		t.at[i] = Forever
	}
	for i := range t.winner {
		t.winner[i] = leftmost(i, size)
	}
	return t
}

// leftmost returns the first leaf under node i, which wins while all instants are equal.
func leftmost(i, size int) int32 {
	for i > 0 && i < size {
		i *= 2
	}
	return int32(max(0, i-size))
}

// Min returns the earliest instant and the instance that has it.
func (t *Tournament) Min() (Time, int32) {
	if t.leaves == 1 {
		return t.at[0], t.base
	}
	w := t.winner[1]
	return t.at[w], w + t.base
}

// Set gives instance i another instant.
func (t *Tournament) Set(i int32, at Time) {
	i -= t.base
	t.at[i] = at
	if t.leaves > 1 {
		t.replay(i)
	}
}

// replay plays the matches of leaf i again.
func (t *Tournament) replay(i int32) {
	best := t.better(i, i^1)
	node := (int(i) + t.leaves) >> 1
	t.winner[node] = best
	for node > 1 {
		best = t.better(best, t.winner[node^1])
		node >>= 1
		t.winner[node] = best
	}
}

func (t *Tournament) better(a, b int32) int32 {
	if t.at[b] < t.at[a] || t.at[b] == t.at[a] && b < a {
		return b
	}
	return a
}
