package sim

import "fmt"

// Route is the way of a request through pools. Roles are data: a prefill pool is one whose stage hands the cache over, an
// encode pool one whose stage hands over something else.
type Route []Stage

// Stage is what one pool does for a request. The last stage of a route emits all tokens that are left.
type Stage struct {
	Pool   int   // index in Config.Pools
	Tokens int32 // that it emits before it hands over: 0 or 1
	Cache  bool  // the KV cache goes along; false: something else does, and the next pool reads the prompt anew
	Push   bool  // the next pool reserves before this stage begins, and receives layer by layer; false: pulls when it has ended
	Link   Link  // to the next pool
}

// Link is what a transfer between two instances takes. A transfer of n tokens that shares neither end with another takes
// Latency + Fixed + n·Token; see link.go for those that do.
type Link struct {
	Latency Duration // before the first byte
	Fixed   Duration // what does not grow with the tokens
	Token   Duration // of each
	Layers  int32    // that Push sends one by one: all but the last overlap with the prefill
}

// validate checks route i of a cluster with these pools.
func (route Route) validate(i int, pools []*Pool) error {
	if len(route) == 0 || len(route) > 255 {
		return fmt.Errorf("sim: route %d has %d stages, must have 1 to 255", i, len(route))
	}
	for j, s := range route {
		last := j == len(route)-1
		switch l := s.Link; {
		case s.Pool < 0 || s.Pool >= len(pools):
			return fmt.Errorf("sim: stage %d of route %d is on pool %d, of %d", j, i, s.Pool, len(pools))
		case last:
		case s.Tokens < 0 || s.Tokens > 1 || s.Tokens == 1 && !s.Cache:
			return fmt.Errorf("sim: stage %d of route %d emits %d tokens before it hands over, must be 0 or, with its cache, 1", j, i, s.Tokens)
		case s.Push && j > 0:
			return fmt.Errorf("sim: stage %d of route %d pushes, which only the first can", j, i)
		case l.Latency < 0 || l.Fixed < 0 || l.Token < 0 || l.Token > Second || s.Push && (l.Layers < 1 || !s.Cache):
			return fmt.Errorf("sim: stage %d of route %d: a link needs no negative times, Token up to a second and, to push a cache, layers: %+v", j, i, l)
		case s.Cache && pools[route[j+1].Pool].MaxNumSeqs < 1:
			return fmt.Errorf("sim: stage %d of route %d hands its cache to pool %q, which needs Seats", j, i, pools[route[j+1].Pool].Name)
		}
	}
	return nil
}
