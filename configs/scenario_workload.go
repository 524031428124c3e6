package configs

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Workload is what is asked of the deployment: exactly one of arrivals, closed loop and trace says when.
type Workload struct {
	Arrivals     *Arrivals   `yaml:"arrivals"`
	ClosedLoop   *ClosedLoop `yaml:"closed_loop"`
	Trace        *Trace      `yaml:"trace"`
	Lengths      *Recorded   `yaml:"lengths"`
	PromptTokens *Lengths    `yaml:"prompt_tokens"`
	OutputTokens *Lengths    `yaml:"output_tokens"`
	Prefix       *Prefix     `yaml:"prefix"`
	Sessions     *Sessions   `yaml:"sessions"`
	Classes      []Class     `yaml:"classes,omitempty"`
	Distinct     int64       `yaml:"distinct_prompts,omitempty" bound:"[1,16777216]" doc:"prompts in all, drawn once with their outputs' lengths and sent again and again; null: every prompt is another"`
	Order        string      `yaml:"order,omitempty" oneof:"prompt-orders" doc:"of distinct prompts: cycle, shuffled once and then in turn; random, drawn for each request; null: cycle"`
	MaxTokens    int64       `yaml:"max_tokens,omitempty" bound:"[1,1073741823]" doc:"the client's limit on the output; null: exactly the output it gets"`
	Requests     int64       `yaml:"requests,omitempty" bound:"[1,2147483647]" doc:"sent in all, turns of sessions included; null: as many as there are recorded lengths, or no limit"`
	DurationS    float64     `yaml:"duration_s,omitempty" bound:"(0,horizon]" doc:"seconds after which the run ends, whatever is under way (a trace: none is sent); null: no limit"`
	WarmupS      float64     `yaml:"warmup_s" bound:"[0,horizon]" doc:"seconds whose requests are served but not measured"`
	TimeoutS     float64     `yaml:"timeout_s,omitempty" bound:"(0,horizon]" doc:"seconds after which a client hangs up; null: never"`
	Cancel       Cancel      `yaml:"cancel"`
}

// Arrivals is an open loop: requests come whatever becomes of the ones before, or sessions do. See arrivals.Spec for
// the processes.
type Arrivals struct {
	Process   string      `yaml:"process" names:"arrivals" doc:"law of the gaps between requests"`
	Rate      float64     `yaml:"rate,omitempty" doc:"requests/s, the long-run mean; null: as the points or the bursts say"`
	CV        float64     `yaml:"cv,omitempty"`
	OnRate    float64     `yaml:"on_rate,omitempty"`
	OffRate   float64     `yaml:"off_rate,omitempty"`
	OnS       float64     `yaml:"on_s,omitempty"`
	OffS      float64     `yaml:"off_s,omitempty"`
	Points    []RatePoint `yaml:"points,omitempty"`
	Amplitude float64     `yaml:"amplitude,omitempty"`
	PeriodS   float64     `yaml:"period_s,omitempty"`
}

// RatePoint is the rate at an instant.
type RatePoint struct {
	AtS  float64 `yaml:"at_s"`
	Rate float64 `yaml:"rate"`
}

// ClosedLoop is a number of clients that each wait for an answer before they send the next request.
type ClosedLoop struct {
	Concurrency int     `yaml:"concurrency" bound:"[1,1048576]" doc:"clients"`
	ThinkTimeS  float64 `yaml:"think_time_s" bound:"[0,horizon]" doc:"seconds between an answer and the next request, or between two sessions"`
	RampS       float64 `yaml:"ramp_s" bound:"[0,horizon]" doc:"seconds over which the clients start, evenly spread; 0: all at once"`
}

// Trace replays recorded arrivals and lengths.
type Trace struct {
	File      string  `yaml:"file" doc:"CSV or JSON lines, plain or gzipped; ids of prompt blocks, as in hash_ids, say what is shared"`
	Speed     float64 `yaml:"speed" bound:"[1e-6,1e6]" doc:"2: twice as fast as recorded"`
	Limit     int64   `yaml:"limit,omitempty" bound:"[1,2147483647]" doc:"requests taken; null: all"`
	StartS    float64 `yaml:"start_s" bound:"[0,horizon]" doc:"seconds of the recording left out before the first request taken"`
	EndS      float64 `yaml:"end_s,omitempty" doc:"seconds of the recording after which none is taken; null: its end"`
	SkipEmpty bool    `yaml:"skip_empty" doc:"leave out rows without tokens instead of refusing them"`
}

// Lengths is a law of token counts. See lengths.Spec for the laws.
type Lengths struct {
	Distribution string     `yaml:"distribution" names:"lengths" doc:"law of the counts"`
	Mean         float64    `yaml:"mean,omitempty"`
	CV           float64    `yaml:"cv,omitempty"`
	Shape        float64    `yaml:"shape,omitempty"`
	Min          int64      `yaml:"min,omitempty"`
	Max          int64      `yaml:"max,omitempty"`
	Values       []float64  `yaml:"values,omitempty"`
	Weights      []float64  `yaml:"weights,omitempty"`
	Edges        []float64  `yaml:"edges,omitempty"`
	Quantiles    []Quantile `yaml:"quantiles,omitempty"`
}

// Prefix is text that the prompts of many requests begin with, such as a system prompt, in front of what prompt_tokens
// says.
type Prefix struct {
	Groups int64 `yaml:"groups" required:"groups and tokens" bound:"[1,16777216]" doc:"prefixes in all; a request has one of them, at random"`
	Tokens int64 `yaml:"tokens" required:"groups and tokens" bound:"[1,536870911]" doc:"length of each, in front of prompt_tokens"`
}

// Quantile says that a share P of the requests has at most so many tokens.
type Quantile struct {
	P      float64 `yaml:"p"`
	Tokens float64 `yaml:"tokens"`
}

// Cancel is clients that hang up although they get what they asked for.
type Cancel struct {
	Probability float64 `yaml:"probability" bound:"[0,1]" doc:"of a request whose client hangs up"`
	AfterS      float64 `yaml:"after_s" bound:"[0,horizon]" doc:"seconds after sending it, the mean of an exponential law"`
}

// laws returns how long requests are, with the recorded lengths where there are some.
func (w *Workload) laws(pairs *lengths.Pairs) requests.Mix {
	l := requests.Mix{Pairs: pairs, Repeat: w.Lengths != nil && w.Lengths.Repeat, Classes: w.classes()}
	if w.PromptTokens != nil {
		l.Prompt = w.PromptTokens.law()
	}
	if w.OutputTokens != nil {
		l.Output = w.OutputTokens.law()
	}
	l.Sharing = requests.Sharing{DistinctPrompts: w.Distinct, Order: w.Order}
	if w.Prefix != nil {
		l.Sharing.Groups, l.Sharing.PrefixTokens = w.Prefix.Groups, w.Prefix.Tokens
	}
	if w.MaxTokens > 0 {
		l.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: float64(w.MaxTokens)}
	}
	return l
}

func (l *Lengths) law() lengths.Spec {
	law := lengths.Spec{
		Distribution: l.Distribution, Mean: l.Mean, CV: l.CV, Shape: l.Shape, Min: l.Min, Max: l.Max,
		Values: l.Values, Weights: l.Weights, Edges: l.Edges,
	}
	for _, q := range l.Quantiles {
		law.Quantiles = append(law.Quantiles, lengths.Quantile(q))
	}
	return law
}

func (a *Arrivals) law() arrivals.Spec {
	law := arrivals.Spec{
		Process: a.Process, Rate: a.Rate, CV: a.CV, OnRate: a.OnRate, OffRate: a.OffRate, OnS: a.OnS, OffS: a.OffS,
		Amplitude: a.Amplitude, PeriodS: a.PeriodS,
	}
	for _, p := range a.Points {
		law.Points = append(law.Points, arrivals.Point(p))
	}
	return law
}

func (w *Workload) patience() requests.Patience {
	return requests.Patience{TimeoutS: w.TimeoutS, CancelShare: w.Cancel.Probability, CancelAfterS: w.Cancel.AfterS}
}

// openLoop returns the open loop of a workload with arrivals.
func (w *Workload) OpenSource(pairs *lengths.Pairs) workloads.OpenLoop {
	return workloads.OpenLoop{
		Arrivals: w.Arrivals.law(), Mix: w.laws(pairs), Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
}

// closedLoop returns the closed loop of a workload that has one.
func (w *Workload) ClosedSource(pairs *lengths.Pairs) sessions.ClosedLoop {
	return sessions.ClosedLoop{
		Concurrency: int64(w.ClosedLoop.Concurrency), ThinkTimeS: w.ClosedLoop.ThinkTimeS, RampS: w.ClosedLoop.RampS,
		Mix: w.laws(pairs), Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
}

// replay returns what a trace workload takes of its file: the narrower of its window and the workload's own ends.
func (w *Workload) Replay(seed uint64) traces.Options {
	t := w.Trace
	o := traces.Options{
		Speed: t.Speed, Limit: t.Limit, StartS: t.StartS, EndS: t.EndS, SkipEmpty: t.SkipEmpty,
		Patience: w.patience(), Seed: seed, Classes: w.classes(),
	}
	if w.Requests > 0 && (o.Limit == 0 || w.Requests < o.Limit) {
		o.Limit = w.Requests
	}
	// An end beyond the clock is none: a trace that reaches it is refused anyway.
	if endS := t.StartS + w.DurationS*t.Speed; w.DurationS > 0 && endS <= sim.HorizonS && (o.EndS == 0 || endS < o.EndS) {
		o.EndS = endS
	}
	return o
}
