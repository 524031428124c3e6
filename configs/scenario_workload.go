package configs

import (
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Workload is what is asked of the deployment: exactly one of arrivals, those of classes, closed loop and trace says
// when.
type Workload struct {
	Arrivals     *arrivals.Spec `yaml:"arrivals" about:"an open loop: requests come whatever becomes of the ones before"`
	ClosedLoop   *ClosedLoop    `yaml:"closed_loop" about:"clients that wait for an answer before they send the next request"`
	Trace        *Trace         `yaml:"trace" about:"recorded arrivals and lengths"`
	Preset       string         `yaml:"preset,omitempty" names:"presets" doc:"a workload that is built in, in a file alone: what the file says stands over it, and the resolved scenario has its keys; null: none"`
	Lengths      *Recorded      `yaml:"lengths" about:"recorded lengths, in place of prompt_tokens and output_tokens"`
	PromptTokens *lengths.Spec  `yaml:"prompt_tokens" about:"law of prompt lengths"`
	OutputTokens *lengths.Spec  `yaml:"output_tokens" about:"law of output lengths"`
	Prefix       *Prefix        `yaml:"prefix" about:"text that the prompts of many requests begin with"`
	Sessions     *Sessions      `yaml:"sessions" about:"conversations: a prompt is all that was said before and what prompt_tokens says"`
	Agents       *Agents        `yaml:"agents" about:"tasks of agents, which generate, run a tool and generate again: a prompt is all that came before and what the tool has returned"`
	Reasoning    *Reasoning     `yaml:"reasoning" about:"tokens at the beginning of an output that its user does not see"`
	Clients      *Clients       `yaml:"clients" about:"clients that differ in rate, bursts and lengths, which share what arrivals says; null: all requests are of one stream"`
	Adapters     *Adapters      `yaml:"adapters" about:"LoRA adapters that requests have, those of a session the same; null: they are of the model itself"`
	Classes      []Class        `yaml:"classes,omitempty" about:"service classes, by share of the requests, or each with arrivals of its own"`
	Distinct     int64          `yaml:"distinct_prompts,omitempty" bound:"[1,16777216]" unit:"prompts" doc:"prompts in all, drawn once with their outputs' lengths and sent again and again; null: every prompt is another"`
	Order        string         `yaml:"order,omitempty" oneof:"prompt-orders" doc:"of distinct prompts: cycle, shuffled once and then in turn; random, drawn for each request; null: cycle"`
	MaxTokens    int64          `yaml:"max_tokens,omitempty" bound:"[1,1073741823]" doc:"the client's limit on the output; null: exactly the output it gets"`
	Requests     int64          `yaml:"requests,omitempty" bound:"[1,2147483647]" unit:"requests" doc:"sent in all, turns of sessions included, or with agents those after which no task begins; null: the number of recorded lengths, or no limit"`
	DurationS    float64        `yaml:"duration_s,omitempty" bound:"(0,horizon]" doc:"seconds after which the run ends, whatever is under way (a trace: none is sent); null: no limit"`
	WarmupS      float64        `yaml:"warmup_s" bound:"[0,horizon]" doc:"seconds whose requests are served but not measured"`
	Precision    float64        `yaml:"precision,omitempty" bound:"[0.001,0.5]" doc:"share of every headline number that half of its 95 % interval is to be at most, for which a run is lengthened; null: it has the given length"`
	TimeoutS     float64        `yaml:"timeout_s,omitempty" bound:"(0,horizon]" doc:"seconds after which a client cancels; null: never"`
	Cancel       Cancel         `yaml:"cancel" about:"clients that disconnect although they get what they asked for"`
}

// ClosedLoop is a number of clients that each wait for an answer before they send the next request.
type ClosedLoop struct {
	Concurrency int     `yaml:"concurrency" bound:"[1,1048576]" unit:"clients" doc:"clients"`
	ThinkTimeS  float64 `yaml:"think_time_s" bound:"[0,horizon]" doc:"seconds between an answer and the next request, or between two sessions"`
	RampS       float64 `yaml:"ramp_s" bound:"[0,horizon]" doc:"seconds over which the clients start, evenly spread; 0: all at once"`
}

// Trace replays recorded arrivals and lengths.
type Trace struct {
	File      string  `yaml:"file" doc:"CSV or JSON lines, plain or gzipped; ids of prompt blocks, as in hash_ids, say what is shared"`
	Speed     float64 `yaml:"speed" bound:"[1e-6,1e6]" unit:"times" doc:"2: twice as fast as recorded"`
	Rate      float64 `yaml:"rate,omitempty" bound:"(0,1e9]" unit:"requests/s" doc:"requests/s, the mean of what limit, start_s and end_s select: all arrival times are divided by one factor; null: as speed says"`
	Limit     int64   `yaml:"limit,omitempty" bound:"[1,2147483647]" unit:"requests" doc:"requests taken; null: all"`
	StartS    float64 `yaml:"start_s" bound:"[0,horizon]" doc:"seconds of the recording left out before the first request taken"`
	EndS      float64 `yaml:"end_s,omitempty" doc:"seconds of the recording after which none is taken; null: its end"`
	Follow    bool    `yaml:"follow_answers" doc:"a prompt that goes on from an earlier one, by its block ids or its session_id, is sent when that is answered, and no sooner after it than recorded; false: as recorded"`
	SkipEmpty bool    `yaml:"skip_empty" doc:"leave out rows without tokens instead of refusing them"`
}

// Prefix is text that the prompts of many requests begin with, such as a system prompt, in front of what prompt_tokens
// says.
type Prefix struct {
	Groups int64 `yaml:"groups" required:"groups and tokens" bound:"[1,16777216]" doc:"prefixes in all; a request has one of them, at random"`
	Tokens int64 `yaml:"tokens" required:"groups and tokens" bound:"[1,536870911]" unit:"tokens" doc:"length of each, in front of prompt_tokens"`
}

// Cancel is clients that disconnect although they get what they asked for.
type Cancel struct {
	Probability float64 `yaml:"probability" bound:"[0,1]" doc:"of a request whose client cancels it"`
	AfterS      float64 `yaml:"after_s" bound:"[0,horizon]" doc:"seconds after sending it, the mean of an exponential law"`
}

// laws returns how long requests are, with the recorded lengths where there are some.
func (w *Workload) laws(pairs *lengths.Pairs) requests.Mix {
	l := requests.Mix{Pairs: pairs, Repeat: w.Lengths != nil && w.Lengths.Repeat, Classes: w.classes()}
	if w.PromptTokens != nil {
		l.Prompt = *w.PromptTokens
	}
	if w.OutputTokens != nil {
		l.Output = *w.OutputTokens
	}
	l.Sharing = requests.Sharing{DistinctPrompts: w.Distinct, Order: w.Order}
	if w.Prefix != nil {
		l.Sharing.Groups, l.Sharing.PrefixTokens = w.Prefix.Groups, w.Prefix.Tokens
	}
	if w.MaxTokens > 0 {
		l.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: float64(w.MaxTokens)}
	}
	if r := w.Reasoning; r != nil {
		l.Reasoning = requests.Reasoning{Share: r.Share, InContext: r.InContext}
		if r.Tokens != nil {
			l.Reasoning.Tokens = *r.Tokens
		}
	}
	return l
}

// Answers returns what requests that come from elsewhere are, beside their prompts: their classes, and the tokens that
// the model would emit without a limit. Recorded lengths are used over and over.
func (w *Workload) Answers(pairs *lengths.Pairs) requests.Mix {
	shared := *w
	shared.Classes = w.byShare()
	l := shared.laws(pairs)
	l.Sharing, l.MaxOutput, l.Repeat = requests.Sharing{}, lengths.Spec{}, true
	return l
}

// SetReplay makes w the replay of a trace of requests whose classes are drawn as those of w.
func (w *Workload) SetReplay(file string) {
	classes := w.byShare()
	for i := range classes {
		c := &classes[i]
		c.PromptTokens, c.OutputTokens, c.MaxTokens = nil, nil, 0
		c.ReasoningTokens = nil
	}
	adapters := w.Adapters
	if adapters != nil { // the trace names them
		adapters = &Adapters{Count: adapters.Count, Rank: adapters.Rank}
	}
	*w = Workload{Trace: &Trace{File: file, Speed: 1}, Classes: classes, Adapters: adapters}
}

func (w *Workload) patience() requests.Patience {
	return requests.Patience{TimeoutS: w.TimeoutS, CancelShare: w.Cancel.Probability, CancelAfterS: w.Cancel.AfterS}
}

// OpenSource returns the open loop of a workload with arrivals.
func (w *Workload) OpenSource(pairs *lengths.Pairs) workloads.OpenLoop {
	return workloads.OpenLoop{
		Arrivals: *w.Arrivals, Mix: w.laws(pairs), Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
}

// ClosedSource returns the closed loop of a workload that has one.
func (w *Workload) ClosedSource(pairs *lengths.Pairs) sessions.ClosedLoop {
	return sessions.ClosedLoop{
		Concurrency: int64(w.ClosedLoop.Concurrency), ThinkTimeS: w.ClosedLoop.ThinkTimeS, RampS: w.ClosedLoop.RampS,
		Mix: w.laws(pairs), Requests: w.Requests, DurationS: w.DurationS, Patience: w.patience(),
	}
}

// Files returns the files of requests.
func (w *Workload) Files() (all []string) {
	if w.Trace != nil {
		all = append(all, w.Trace.File)
	}
	if w.Lengths != nil && w.Lengths.File != "" {
		all = append(all, w.Lengths.File)
	}
	return all
}

// Replay returns what a trace workload takes of its file: the narrower of its window and the workload's own ends.
func (w *Workload) Replay(seed uint64) traces.Options {
	t := w.Trace
	o := traces.Options{
		Speed: t.Speed, Limit: t.Limit, StartS: t.StartS, EndS: t.EndS, SkipEmpty: t.SkipEmpty,
		Patience: w.patience(), Seed: seed, Classes: w.classes(),
	}
	if w.Reasoning != nil {
		o.Reasoning = w.Reasoning.Share
	}
	if t.Rate > 0 { // the factor is that of all that is selected, however much of it is sent
		o.Rate, o.Requests, o.DurationS = t.Rate, w.Requests, w.DurationS
		return o
	}
	if w.Requests > 0 && (o.Limit == 0 || w.Requests < o.Limit) {
		o.Limit = w.Requests
	}
	// An end beyond the clock is none: a trace that reaches it is refused anyway.
	endS := t.StartS + float64(w.DurationS*t.Speed)
	if w.DurationS > 0 && endS <= sim.HorizonS && (o.EndS == 0 || endS < o.EndS) {
		o.EndS = endS
	}
	return o
}

// Class is a service class: a share of the requests, drawn for each one (for each session, where there are sessions),
// or what arrives by a process of its own.
type Class struct {
	Name         string         `yaml:"name" doc:"of the class"`
	Share        float64        `yaml:"share,omitempty" bound:"(0,1]" doc:"of the requests; all shares sum to 1; null: as the class's arrivals say"`
	Priority     int64          `yaml:"priority" bound:"[-128,127]" doc:"lower first, where the queue order is priority"`
	SLO          *ClassSLO      `yaml:"slo" about:"limits of the class, in place of all the scenario's"`
	Arrivals     *arrivals.Spec `yaml:"arrivals" about:"of the class alone, in place of workload.arrivals and of shares; null: as share says"`
	PromptTokens *lengths.Spec  `yaml:"prompt_tokens" about:"law of prompt lengths; null: the workload's"`
	OutputTokens *lengths.Spec  `yaml:"output_tokens" about:"law of output lengths; null: the workload's"`
	MaxTokens    int64          `yaml:"max_tokens,omitempty" bound:"[1,1073741823]" doc:"the client's limit on the output; null: the workload's"`

	ReasoningTokens *lengths.Spec `yaml:"reasoning_tokens" about:"law of hidden tokens in front of the output; null: the workload's"`
	Adapters        *Adapters     `yaml:"adapters" about:"LoRA adapters of the class alone; null: the workload's"`
}

// ClassSLO is the limits and the rules of a class, in place of all the scenario's. 0: no such limit. A list of rules
// may stand in its place.
type ClassSLO struct {
	Rules  slo.Lines `yaml:"rules,omitempty" doc:"of a contract, such as ['ttft p95 <= 1s']; null: none"`
	TTFTMS float64   `yaml:"ttft_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the first token; null: no limit"`
	TPOTMS float64   `yaml:"tpot_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds per token after it; null: no limit"`
	E2EMS  float64   `yaml:"e2e_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the last token; null: no limit"`
}

// ShorthandKey implements strict.Shorthand.
func (*ClassSLO) ShorthandKey() string { return "rules" }

// classes returns the service classes; nil: none.
func (w *Workload) classes() []requests.Class {
	var classes []requests.Class
	for i := range w.Classes {
		c := &w.Classes[i]
		k := requests.Class{Name: c.Name, Share: c.Share, Priority: c.Priority}
		if c.PromptTokens != nil {
			k.Prompt = *c.PromptTokens
		}
		if c.OutputTokens != nil {
			k.Output = *c.OutputTokens
		}
		if c.ReasoningTokens != nil {
			k.Reasoning = *c.ReasoningTokens
		}
		if c.MaxTokens > 0 {
			k.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: float64(c.MaxTokens)}
		}
		classes = append(classes, k)
	}
	return classes
}

// Recorded is lengths as they were, in place of prompt_tokens and output_tokens: the k-th request sent has the k-th of
// them, whichever client sends it.
type Recorded struct {
	File   string    `yaml:"file,omitempty" doc:"CSV or JSON lines, plain or gzipped, with a prompt and an output in tokens per row; null: values"`
	Values [][]int64 `yaml:"values,omitempty" doc:"prompts and outputs in tokens, such as [[512, 128], [90, 400]]; null: file"`
	Repeat bool      `yaml:"repeat" doc:"start again after the last; false: no more requests than there are lengths"`
}

// valuesMax bounds the lengths that are written out: more belong into a file.
const valuesMax = 100_000

// Bounded reports whether recorded lengths say how many requests there are: each is sent once.
func (w *Workload) Bounded() bool { return w.Lengths != nil && !w.Lengths.Repeat && w.Distinct == 0 }

// checkRecorded refuses recorded lengths of two kinds, of none, and beside laws.
func (w *Workload) checkRecorded(c *checker) {
	const path = "workload.lengths"
	l := w.Lengths
	switch file, values := c.origins.given(path+".file"), c.origins.given(path+".values"); {
	case w.PromptTokens != nil:
		c.fail("workload.prompt_tokens", "stands beside lengths, which say how long prompts are; expected only one of them")
	case w.OutputTokens != nil:
		c.fail("workload.output_tokens", "stands beside lengths, which say how long outputs are; expected only one of them")
	case file && values:
		c.fail(path+".values", "stands beside file; expected only one of them")
	case file:
		c.text(path+".file", l.File, "a path to a CSV or JSON-lines file")
	case !values:
		c.fail(path, "says no lengths; expected file, or values such as [[512, 128], [90, 400]]")
	case len(l.Values) > valuesMax:
		c.fail(path+".values", "has %d pairs; expected at most %d, or file", len(l.Values), valuesMax)
	}
}

// probe returns lengths to judge the rest of a workload by before any file is read: those written out, or any.
func (l *Recorded) probe() (pairs *lengths.Pairs, err error) {
	if l.File == "" {
		return lengths.NewPairs(l.Values)
	}
	return lengths.NewPairs([][]int64{{1, 1}})
}
