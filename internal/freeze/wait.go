package freeze

import (
	"sort"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// waited is what a measured value waits for.
type waited struct {
	share   []float64 // of each shape, how many steps
	rest    float64   // seconds that pass whatever the steps and the ingress take
	entries float64   // ingress delays
	tokens  float64   // of prompts that are tokenised one after the other, with those that it waits for
}

// lasts returns the seconds that it takes, with so many seconds for a step of each shape, for an ingress delay and to
// tokenise a token.
func (w *waited) lasts(seconds []float64, ingress, tokenize float64) float64 {
	sum := w.rest + float64(w.entries*ingress) + float64(w.tokens*tokenize)
	for i, share := range w.share {
		sum += float64(share * seconds[i])
	}
	return sum
}

// waiting is that under way.
type waiting struct {
	waited
	*recording
	of []int // which shape each step has
}

// value adds what a value waits for: the mean request of its row, or for a rate the whole of them.
func (w *waiting) value(m measured.Metric, in []validation.Request) {
	if m == measured.OutputPerS || m == measured.RequestsPerS {
		w.span(in)
		return
	}
	n := 0.0
	for i := range in {
		if counts(&in[i], m) {
			n++
		}
	}
	for i := range in {
		q := &in[i]
		if !counts(q, m) {
			continue
		}
		switch first, last := q.SentS+q.TtftS, q.SentS+q.E2eS; m {
		case measured.TTFT:
			w.tokenizes(q.TokenizingS / n)
			w.steps(w.entered(q), first, 1/n)
		case measured.E2E:
			w.tokenizes(q.TokenizingS / n)
			w.steps(w.entered(q), last, 1/n)
		case measured.TPOT:
			w.steps(first, last, 1/n/float64(q.Output-1))
		}
	}
	if m != measured.TPOT {
		w.entries = 1
	}
}

// tokenizes adds so many seconds in which prompts are tokenised.
func (w *waiting) tokenizes(seconds float64) {
	if w.tokenizeS > 0 {
		w.tokens += seconds / w.tokenizeS
	}
}

// counts reports whether a request is in the mean.
func counts(q *validation.Request, m measured.Metric) bool {
	return q.Done && (m != measured.TPOT || q.Output > 1)
}

// entered is when a request reached the engine.
func (t *recording) entered(q *validation.Request) float64 {
	return q.SentS + t.Ingress.Seconds() + q.TokenizingS
}

// span adds what the time from the first send to the last token consists of. In a closed loop every step of it delays
// the end, and so do the ingress and the tokenizer where the engine waits for a client. Under open load arrivals come
// when they do: what delays the end is what the last request waits for.
func (w *waiting) span(in []validation.Request) {
	var first, last *validation.Request
	meanS := 0.0
	for i := range in {
		q := &in[i]
		meanS += q.TokenizingS / float64(len(in))
		if first == nil || q.SentS < first.SentS {
			first = q
		}
		if q.Done && (last == nil || q.SentS+q.E2eS > last.SentS+last.E2eS) {
			last = q
		}
	}
	w.entries = 1
	if !w.closed {
		w.rest = last.SentS - first.SentS
		w.tokenizes(last.TokenizingS)
		w.steps(w.entered(last), last.SentS+last.E2eS, 1)
		return
	}
	gaps := w.steps(w.entered(first), last.SentS+last.E2eS, 1)
	w.entries += float64(gaps)
	w.tokenizes(first.TokenizingS + float64(float64(gaps)*meanS))
	w.rest -= float64(float64(gaps) * (w.Ingress.Seconds() + meanS))
}

// instantS is less than any step takes: what rounding makes of an instant in seconds.
const instantS = 1e-12

// steps adds the steps between two instants, so many times, and returns the number of gaps between them.
func (w *waiting) steps(fromS, toS, times float64) (gaps int) {
	i := sort.Search(len(w.recording.steps),
		func(i int) bool { return w.recording.steps[i].end().Seconds() > fromS+instantS })
	idle, at := toS-fromS, fromS
	for ; i < len(w.recording.steps) && w.recording.steps[i].start.Seconds() < toS-instantS; i++ {
		s := &w.recording.steps[i]
		start, end := s.start.Seconds(), s.end().Seconds()
		if start > at+instantS {
			gaps++
		}
		part := min(toS, end) - max(fromS, start)
		idle, at = idle-part, end
		w.share[w.of[i]] += float64(times * part / s.span.Seconds() * float64(s.n))
	}
	w.rest += float64(times * idle)
	return gaps
}
