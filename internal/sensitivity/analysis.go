package sensitivity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/text"
)

// Plan is what to analyse.
type Plan struct {
	Source  string   // a scenario, or a study if Size
	Size    bool     // the answer is that of a size
	Metric  string   // of a run: a column of a sweep; empty: the first that suits the scenario
	Vary    []string // the user's own ranges, see ParseVary
	Set     []string
	Env     []string
	Seed    *uint64
	Seeds   int // of a run
	Version string
}

// command is the command line that makes the analysis again, where the file of its scenario is.
func (p *Plan) command() string {
	words := text.Command{"decodesim", "sensitivity", text.FileName(p.Source)}
	if p.Size {
		words = append(words, "--of", "size")
	}
	if p.Metric != "" {
		words = append(words, "--metric", p.Metric)
	}
	words = words.Flag("--vary", p.Vary...).Flag("--set", p.Set...)
	if p.Seed != nil {
		words = words.Flag("--seed", strconv.FormatUint(*p.Seed, 10))
	}
	if !p.Size {
		words = words.Flag("--seeds", strconv.Itoa(p.Seeds))
	}
	return words.String()
}

// halvings is how often the range is halved within which the decision changes: to less than a fiftieth.
const halvings = 6

// Analyse varies every input of the answer. progress, which may be nil, is called with how many answers there are, and
// of how many; one that is sought counts in part, and their number may grow while thresholds are sought.
func Analyse(ctx context.Context, p Plan, progress func(done float64, of int)) (*Result, error) {
	subject, r, err := prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	a := &analysis{ctx: ctx, subject: subject, progress: progress}
	inputs := subject.Inputs()
	if len(inputs) == 0 {
		return nil, errNothing
	}
	answers, err := a.ask(inputs)
	if err != nil {
		return nil, err
	}
	base := answers[0]
	if math.IsNaN(base.mean()) {
		return nil, run.Failure{Err: fmt.Errorf("the answer has no %s: %s", r.Metric, base.Decision)}
	}
	r.Base, r.Decision = base.mean(), base.Decision
	for i := range inputs {
		r.Effects = append(r.Effects, effectOf(inputs[i], &base, &answers[1+2*i], &answers[2+2*i]))
	}
	if !p.Size {
		if err := a.thresholds(r); err != nil {
			return nil, err
		}
	}
	r.rank()
	return r, nil
}

// prepare reads what the answer is of.
func prepare(ctx context.Context, p Plan) (Subject, *Result, error) {
	r := &Result{Schema: Schema, Version: p.Version, Of: "run", Metric: p.Metric, Command: p.command()}
	if p.Size {
		z, err := newSize(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		r.Of, r.Scenario = "size", z.study.Name
		r.Is, r.Seed = describe.ModelOf(z.base), z.base.Seed
		r.base, r.Expected = z.base, expected.Of(z.base)
		r.Metric = "goodput_per_s_per_gpu"
		if z.study.Rate.At > 0 {
			r.Metric = "usd_per_hour"
		}
		return z, r, nil
	}
	x, s, err := newRun(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if r.Metric == "" {
		r.Metric = "e2e_p95_s"
		if s.SLO.TTFTMS+s.SLO.TPOTMS+s.SLO.E2EMS > 0 || len(s.SLO.Rules) > 0 {
			r.Metric = "slo_attainment"
		}
		x.plan.Metric = r.Metric
	}
	if err := sweep.HasColumn(r.Metric); err != nil {
		return nil, nil, fmt.Errorf("--metric %s: %w", r.Metric, err)
	}
	r.Scenario, r.Seed, r.Seeds = s.Name, s.Seed, len(x.seeds)
	r.Is = describe.Deployment(s)
	r.base, r.Expected = s, expected.Of(s)
	return x, r, nil
}

// analysis asks a subject.
type analysis struct {
	ctx      context.Context
	subject  Subject
	progress func(done float64, of int)
	done, of int
}

// ask returns the answer as it is, and with each input at both ends of its range. What cannot be answered, such as a
// model that does not fit the memory then, is a decision of its own.
func (a *analysis) ask(inputs []Input) ([]Answer, error) {
	var sets [][]string
	sets = append(sets, nil)
	for i := range inputs {
		sets = append(sets, inputs[i].assign(inputs[i].Low), inputs[i].assign(inputs[i].High))
	}
	answers, errs := a.answers(sets)
	if errs[0] != nil {
		return nil, errs[0]
	}
	for i := range answers {
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		if errs[i] != nil {
			answers[i] = Answer{Values: []float64{math.NaN()}, Decision: "it cannot be run: " + errs[i].Error()}
		}
	}
	return answers, nil
}

// answers asks for all at once, over all cores.
func (a *analysis) answers(sets [][]string) ([]Answer, []error) {
	answers, errs := make([]Answer, len(sets)), make([]error, len(sets))
	a.of += len(sets)
	var report func(done float64)
	if a.progress != nil {
		report = func(done float64) { a.progress(done, a.of) }
	}
	shares := run.NewShares(report, a.done)
	run.Each(len(sets), func(i int) {
		errs[i] = a.ctx.Err()
		if errs[i] == nil {
			answers[i], errs[i] = a.subject.Answer(a.ctx, sets[i], func(share float64) { shares.Set(i, share) })
		}
		shares.Ended(i)
	})
	a.done = a.of
	return answers, errs
}

// effectOf compares the answers at both ends of a range with that in it.
func effectOf(in Input, base, low, high *Answer) Effect {
	e := Effect{Input: in, AtLow: end(base, low), AtHigh: end(base, high)}
	for _, at := range []*End{&e.AtLow, &e.AtHigh} {
		if d := math.Abs(float64(at.Answer) - base.mean()); d > e.Swing {
			e.Swing = d
		}
		e.Changes = e.Changes || at.Decision != base.Decision
	}
	if d := math.Abs(float64(e.AtHigh.Answer - e.AtLow.Answer)); d > e.Swing {
		e.Swing = d
	}
	return e
}

// end is the answer at one end of a range, paired with that in it by seed.
func end(base, at *Answer) End {
	e := End{Answer: stats.Number(at.mean()), Decision: at.Decision}
	if n := len(base.Values); n > 1 && len(at.Values) == n {
		differences := make([]float64, n)
		for i := range differences {
			differences[i] = at.Values[i] - base.Values[i]
		}
		e.Interval = stats.IntervalAround(at.mean()-base.mean(), differences)
	}
	return e
}

// thresholds finds for each input that changes the decision at which value it does: between the value it has and the
// end of the range, nearest to which the decision is another.
func (a *analysis) thresholds(r *Result) error {
	type search struct {
		effect    *Effect
		same, end float64
		downwards bool
		other     string
	}
	var all []*search
	for i := range r.Effects {
		e := &r.Effects[i]
		if e.AtLow.Decision != r.Decision {
			all = append(all, &search{effect: e, same: e.Value, end: e.Low, downwards: true, other: e.AtLow.Decision})
		}
		if e.AtHigh.Decision != r.Decision {
			all = append(all, &search{effect: e, same: e.Value, end: e.High, other: e.AtHigh.Decision})
		}
	}
	for range halvings {
		var sets [][]string
		for _, s := range all {
			sets = append(sets, s.effect.assign((s.same+s.end)/2))
		}
		answers, errs := a.answers(sets)
		if err := a.ctx.Err(); err != nil {
			return err
		}
		for i, s := range all {
			if errs[i] == nil && answers[i].Decision == r.Decision {
				s.same = (s.same + s.end) / 2
			} else {
				s.end = (s.same + s.end) / 2
			}
		}
	}
	for _, s := range all {
		s.effect.Thresholds = append(s.effect.Thresholds, Threshold{At: s.end, Below: s.downwards, Decision: s.other})
	}
	return nil
}

// errNothing says that an answer rests on nothing.
var errNothing = errors.New("nothing to vary: no input has a range; expected --vary KEY=LOW:HIGH")

// rank sorts the inputs by what they do to the answer, those that change the decision by themselves first among equals.
func (r *Result) rank() {
	slices.SortStableFunc(r.Effects, func(a, b Effect) int {
		switch {
		case a.Swing > b.Swing:
			return -1
		case a.Swing < b.Swing:
			return 1
		}
		return 0
	})
	r.Sentences = r.say()
}
