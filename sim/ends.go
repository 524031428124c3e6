package sim

// ends is a winner tree over the instances, keyed by the end of their planned steps: one key per instance, which may move
// either way, and ties go to the lower index, whatever the order of scheduling.
type ends struct {
	key    []Time
	winner []int32 // winner[i] beats both its children; leaves are implicit
	leaves int
	base   int32 // the instance of the first leaf
}

func newEnds(n int) ends {
	size := 1
	for size < n {
		size *= 2
	}
	e := ends{key: make([]Time, size), winner: make([]int32, size), leaves: size}
	for i := range e.key {
		e.key[i] = Forever
	}
	for i := range e.winner {
		e.winner[i] = leftmost(i, size)
	}
	return e
}

// leftmost returns the first leaf under node i: with equal keys it wins.
func leftmost(i, size int) int32 {
	for i > 0 && i < size {
		i *= 2
	}
	return int32(max(0, i-size))
}

// min returns the earliest end and whose it is.
func (e *ends) min() (Time, int32) {
	if e.leaves == 1 {
		return e.key[0], e.base
	}
	w := e.winner[1]
	return e.key[w], w
}

func (e *ends) set(i int32, t Time) {
	e.key[i-e.base] = t
	if e.leaves > 1 {
		e.replay(i)
	}
}

// replay plays the matches of leaf i again.
func (e *ends) replay(i int32) {
	best := e.better(i, i^1)
	node := (int(i) + e.leaves) >> 1
	e.winner[node] = best
	for node > 1 {
		best = e.better(best, e.winner[node^1])
		node >>= 1
		e.winner[node] = best
	}
}

func (e *ends) better(a, b int32) int32 {
	if e.key[b] < e.key[a] || e.key[b] == e.key[a] && b < a {
		return b
	}
	return a
}
