package sim_test

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
)

// tokenizing is a prompt in the line of a tokenizer.
type tokenizing struct {
	r    *naiveRequest
	life int32 // of r, when it came
	from sim.Time
	end  sim.Time // of the first in line
}

// drawTokenizer has prompts be tokenised, by a number that is as good as a draw: in no time mostly, or in less than
// steps take, or in more.
func (sc *scenario) drawTokenizer(n int) {
	sc.tokenize = []sim.Duration{0, 0, 0, 0, 3333, sim.Microsecond, 100 * sim.Microsecond, sim.Millisecond}[n%8]
}

// rankTokenizers reports whether each rank has a tokenizer, which follows from what was drawn as well.
func (sc *scenario) rankTokenizers() bool { return sc.blockSize%2 == 0 }

// server returns the instance whose tokenizer the requests of in go through.
func (in *naiveInstance) server() *naiveInstance {
	if in.of.rankTokenizers() {
		return in
	}
	return in.team[0]
}

// join has r begin at an instance, with the tokenizer.
func (n *naive) join(in *naiveInstance, r *naiveRequest) {
	r.at = in
	if !n.lineUp(in, r) {
		n.queuesUp(in, r)
	}
}

// queuesUp has r, which has been tokenised, wait in the queue.
func (n *naive) queuesUp(in *naiveInstance, r *naiveRequest) {
	if n.fetches(in, r) {
		return
	}
	n.enqueue(in, r)
	in.wake()
}

// lineUp puts r in the line of the tokenizer, unless that takes no time.
func (n *naive) lineUp(in *naiveInstance, r *naiveRequest) bool {
	if n.tokenize == 0 {
		return false
	}
	s := in.server()
	s.tokenizer = append(s.tokenizer, tokenizing{r: r, life: r.life, from: n.now})
	if len(s.tokenizer) == 1 {
		s.takeNext()
	} else {
		n.cover["waits for a tokenizer"]++
	}
	return true
}

// takeNext has the tokenizer of in begin with the first in its line.
func (in *naiveInstance) takeNext() {
	if len(in.tokenizer) > 0 {
		x := &in.tokenizer[0]
		x.end = in.of.now
		for range x.r.Prompt {
			x.end = x.end.Add(in.of.tokenize)
		}
	}
}

// tokenizes returns the tokenizer that ends first, and when.
func (f *naiveFleet) tokenizes() (at sim.Time, server *naiveInstance) {
	at = sim.Forever
	for _, in := range f.insts {
		if len(in.tokenizer) > 0 && (in.tokenizer[0].end < at ||
			in.tokenizer[0].end == at && in.tokenizer[0].r.ID < server.tokenizer[0].r.ID) {
			at, server = in.tokenizer[0].end, in
		}
	}
	return at, server
}

// tokenized brings the first in the line of a tokenizer to its queue, if its client still waits.
func (f *naiveFleet) tokenized(server *naiveInstance) {
	x := server.tokenizer[0]
	server.tokenizer = server.tokenizer[1:]
	server.takeNext()
	if r := x.r; r.outcome == "" {
		if !r.entered {
			r.tokenizing += f.now.Sub(x.from)
		}
		f.cover["prompts tokenised"]++
		r.at.of.queuesUp(r.at, r)
	}
}

// stopTokenizing notes for how long those in the line of in were there, which has failed.
func (in *naiveInstance) stopTokenizing() {
	for _, x := range in.tokenizer {
		if x.r.outcome == "" && !x.r.entered {
			x.r.tokenizing += in.of.now.Sub(x.from)
			in.of.cover["failures before a tokenizer is done"]++
		}
	}
}

// inLine returns how many requests of a rank its tokenizer has, whose clients still wait.
func (in *naiveInstance) inLine() (n int) {
	for _, x := range in.server().tokenizer {
		if x.r.outcome == "" && x.r.at == in {
			n++
		}
	}
	return n
}

// leavesLine reports whether r, which is cancelled, is in the line of a tokenizer, which goes on with it.
func (in *naiveInstance) leavesLine(r *naiveRequest) bool {
	return slices.ContainsFunc(in.server().tokenizer, func(x tokenizing) bool { return x.r == r && x.life == r.life })
}
