package views

import "github.com/decodesim/decodesim/sim/metrics"

// Tool is a benchmark tool, or another source of numbers, with what it means by its words.
type Tool struct {
	Name     string // as --view takes it
	Title    string
	Source   string // where the definitions stand
	Measures []Measure
	Rates    []Rate
	Good     *Rule // nil: the tool knows no goodput
	Notes    []string
	Schema   bool // its results can be written as it writes them
}

// Kind is which of the common words a measure answers to.
type Kind uint8

// The kinds of measures.
const (
	OtherKind Kind = iota
	TTFT
	ITL
	TPOT
	E2E
)

// Unit is how a tool prints a value, which is kept in seconds, tokens and their ratios.
type Unit struct {
	Name string
	Size float64
}

// Measure is one metric of a tool.
type Measure struct {
	Key     string // the tool's own name of it
	Kind    Kind
	Unit    Unit
	Formula string // with F = t_1 − t_send, E2E = t_m − t_send and n tokens
	Buckets Buckets
	Ranked  bool // percentiles are nearest ranks, not linear between values

	each  each
	whole whole
}

// each adds what a request contributes to a measure.
type each func(r *Record, add add)

// add takes a value in SI units and its weight.
type add func(x float64, weight int64)

// whole returns the measure of every request, where a run keeps it; nil: only the sample has it.
type whole func(run *Run) (h *metrics.Hist, shiftS float64)

// Values returns what one request contributes, each value as often as it counts for one; weight is that of the last.
func (m *Measure) Values(r *Record) (values []float64, weight int64) {
	if len(r.Chunks) == 0 {
		return nil, 0
	}
	m.each(r, func(x float64, w int64) { values, weight = append(values, x), w })
	return values, weight
}

// quantile is the p-quantile by the rule of the tool.
func (m *Measure) quantile(d *Distribution, p float64) float64 {
	switch {
	case m.Buckets != nil:
		return m.Buckets.quantile(d, p)
	case m.Ranked:
		return d.NearestRank(p)
	}
	return d.Quantile(p)
}

// Rate is a number of the whole run.
type Rate struct {
	Key  string
	Unit string
	of   func(c *Counts, durationS float64) float64
}

// Run is what is known of a run.
type Run struct {
	Full      *metrics.Full
	Counts    Counts
	DurationS float64 // first send to last token
	Records   []Record
	Every     int32 // the sample is every so many-th request
	Stream    Stream
	SLO       metrics.Limits
}

// exact reports whether the recorder's times are the client's.
func (run *Run) exact() bool { return run.Full != nil && run.Stream.Constant() }

// These are what the recorder of the whole run knows. It counts first tokens of requests that failed later; where
// there are such, only the sample can leave them out.
func wholeTTFT(run *Run) (*metrics.Hist, float64) {
	if !run.exact() || run.Full.TTFT.N() != run.Full.E2E.N() {
		return nil, 0
	}
	return &run.Full.TTFT, 0
}

func wholeE2E(run *Run) (*metrics.Hist, float64) {
	if !run.exact() {
		return nil, 0
	}
	return &run.Full.E2E, 0
}

func wholeTPOT(run *Run) (*metrics.Hist, float64) {
	if !run.exact() {
		return nil, 0
	}
	return &run.Full.TPOT, 0
}

// wholeTTFTOfMany: where no answer has a single token, every request has more.
func wholeTTFTOfMany(run *Run) (*metrics.Hist, float64) {
	if run.Counts.Verdicts.Single > 0 {
		return nil, 0
	}
	return wholeTTFT(run)
}

// wholeGaps: a chunk is what a step emits, or what the recorder has followed.
func wholeGaps(run *Run) (*metrics.Hist, float64) {
	switch {
	case !run.exact() || run.Full.TTFT.N() != run.Full.E2E.N():
		return nil, 0
	case run.Stream.Whole():
		return run.Full.StepGaps(), 0
	case run.Full.Stream == nil:
		return nil, 0
	}
	return run.Full.ChunkGaps(), 0
}

// onServer is what a measure of the server knows of the whole run: no network and no chunks.
func onServer(of whole) whole {
	return func(run *Run) (*metrics.Hist, float64) {
		if run.Full == nil {
			return nil, 0
		}
		engine := *run
		engine.Stream = Stream{}
		h, shiftS := of(&engine)
		if h == &run.Full.TTFT || h == &run.Full.E2E { // the recorder counts the way there and back
			shiftS -= (run.Stream.Up() + run.Stream.Egress()).Seconds()
		}
		return h, shiftS
	}
}

// ttft = F.
func ttft(r *Record, add add) { add(r.client().first(), 1) }

// e2e.
func e2e(r *Record, add add) { add(r.client().total(), 1) }

// One sample for each gap t_{j+1} − t_j, none for the tokens within a chunk.
func gaps(r *Record, add add) {
	t := r.client()
	for j := 1; j < len(t.chunks); j++ {
		add(t.gap(j), 1)
	}
}

// tpot = (E2E − F)/(n − 1), of requests with more than one token.
func tpot(r *Record, add add) {
	if t := r.client(); t.n() > 1 {
		add(t.decode()/(t.n()-1), 1)
	}
}

// NTPOT = E2E/n.
func perToken(r *Record, add add) {
	t := r.client()
	add(t.total()/t.n(), 1)
}

// Names returns the tools that --view takes.
func Names() []string {
	var names []string
	for _, t := range Tools() {
		names = append(names, t.Name)
	}
	return names
}

// Tools returns the tools that --view takes.
func Tools() []Tool {
	return []Tool{
		vllmBench(), sglangBench(), aiperf(), genaiPerf(), guidellm(), inferencePerf(), llmperf(), prometheus(),
	}
}

// Named returns the tool of a name.
func Named(name string) (t Tool, ok bool) {
	for _, t := range Tools() {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// milliseconds and seconds are how tools print times.
func milliseconds() Unit { return Unit{"ms", 1e-3} }
func seconds() Unit      { return Unit{"s", 1} }

// The rates that most tools have, over the time from the first send to the last token.
func requestsPerS(c *Counts, durationS float64) float64 {
	return ratio(float64(c.Completed), durationS)
}
func outputPerS(c *Counts, durationS float64) float64 { return ratio(float64(c.Output), durationS) }
func inputPerS(c *Counts, durationS float64) float64  { return ratio(float64(c.Prompt), durationS) }
func tokensPerS(c *Counts, durationS float64) float64 {
	return ratio(float64(c.Prompt+c.Output), durationS)
}

// ratio returns a/b, and 0 for 0/0: nothing happened.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
