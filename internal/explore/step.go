package explore

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/text"
)

// stepX is what the page shows of a state before anything is simulated.
type stepX struct {
	Scenario  string     `json:"scenario"` // built in; empty: the command's
	Own       string     `json:"own"`      // name of the command's
	Scenarios []string   `json:"scenarios"`
	Controls  []controlX `json:"controls"`
	Error     *refusal   `json:"error,omitempty"`
	Answer    string     `json:"answer,omitempty"`
	Facts     []factX    `json:"facts,omitempty"`
	Roofline  *page.Plot `json:"roofline,omitempty"`
	Batches   *page.Plot `json:"batches,omitempty"`
	YAML      string     `json:"yaml,omitempty"`

	Explanation *explain.Explanation `json:"explanation,omitempty"` // as explain --json has it
}

// factX is a number of the answer.
type factX struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// stepOf answers what binds the step of a URL.
func stepOf(ctx context.Context, q url.Values, own *base) *stepX {
	s, err := stateOf(q, own)
	x := &stepX{Scenario: s.base.name, Own: own.scenario.Name, Scenarios: configs.ScenarioNames()}
	if err == nil {
		err = x.explain(ctx, s)
	}
	given := map[string]string{}
	if e := x.Explanation; e != nil {
		given["batch"], given["context"] = strconv.Itoa(e.Batch), strconv.Itoa(e.Context)
	}
	x.Controls = s.controls(given)
	if err != nil {
		x.Error = refused(err)
	}
	return x
}

// explain takes the step apart.
func (x *stepX) explain(ctx context.Context, s *state) error {
	yaml, err := s.text()
	if err != nil {
		return err
	}
	question := explain.Question{Scenario: "-", Options: s.options(yaml)}
	for key, to := range map[string]**int{"batch": &question.Batch, "context": &question.Context} {
		if v, ok := s.values[key]; ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				return err
			}
			*to = &n
		}
	}
	step, err := explain.New(ctx, question)
	if err != nil {
		return err
	}
	e, err := step.Explain()
	if err != nil {
		return err
	}
	x.Explanation, x.YAML = e, string(yaml)
	x.Roofline, x.Batches = rooflineOf(explain.RooflineOf(step, e), e.Batch), batchesOf(e)
	_, given := s.values["batch"]
	x.answer(e, given)
	if !e.Fits {
		x.Error = &refusal{"batch", fmt.Sprintf("%s sequences of %s tokens do not fit: the cache holds %s",
			text.Count(e.Batch), text.Count(e.Context), text.Count(e.Memory.Sequences))}
	}
	return nil
}

// answer says what binds the step. The batch of a state that gives none is a full one, which is not that of the load.
func (x *stepX) answer(e *explain.Explanation, given bool) {
	limit := "reading memory"
	if e.Limit == "compute" {
		limit = "arithmetic"
	}
	of := text.Counted(e.Batch, "sequence") + " with " + text.Counted(e.Context, "token") + " each"
	if !given {
		of = "a full batch, " + of + ","
	}
	x.Answer = fmt.Sprintf("A step of %s takes %s, %s × its bound of %s, which %s sets.", of,
		text.Duration(e.StepS), text.Significant(e.StepS/e.BoundS), text.Duration(e.BoundS), limit)
	x.Facts = []factX{
		{"Time per token", text.Duration(e.StepS), "of one step"},
		{"Bound", text.Duration(e.BoundS), limit},
		{"Memory at peak", text.Duration(e.MemoryS), "all bytes"},
		{"Compute at peak", text.Duration(e.ComputeS), "all FLOPs"},
		{"Tokens", text.Significant(e.TokensPerS) + "/s", "of a replica"},
	}
	if v := e.SwitchBatch; v != nil {
		x.Facts = append(x.Facts, factX{"Compute binds", "from batch " + text.Count(*v), ""})
	}
	if v := e.Speculation; v != nil { // all of the above, and the plots, are the step without drafts
		x.Answer += fmt.Sprintf(" With drafts it takes %s and yields %s tokens of each: %s × the tokens/s.",
			text.Duration(v.StepS), text.Significant(v.TokensPerStep), text.Significant(v.SpeedUp))
		x.Facts = append(x.Facts, factX{"With drafts", text.Duration(v.StepS),
			"of one step for " + text.Significant(v.TokensPerStep) + " tokens"})
	}
}

// rooflineOf is the roofline of one GPU with the batches that fit, and the step's own marked.
func rooflineOf(r *explain.Roofline, batch int) *page.Plot {
	p := &page.Plot{Title: "Roofline of the " + r.GPU, Note: "TFLOP/s of one GPU, attainable against achieved",
		X: page.Axis{Name: "FLOP per byte", Log: true}, Y: page.Axis{Name: "TFLOP/s", Log: true}}
	if !(r.BandwidthBps > 0 && r.PeakFLOPS > 0) {
		return p
	}
	const tera = 1e12
	ridge := r.PeakFLOPS / r.BandwidthBps
	low, high := ridge/300, ridge*10
	var dots []page.Point
	for i, q := range r.Points {
		if !(q.Intensity > 0 && q.FLOPS > 0) {
			continue
		}
		low, high = min(low, q.Intensity/1.5), max(high, 2*q.Intensity)
		dots = append(dots, page.Point{X: q.Intensity, Y: q.FLOPS / tera, Label: r.Points[i].Label})
	}
	batches := page.Dots("batches", dots)
	batches.Mark = 1 + slices.Index(batches.Labels, "batch "+text.Count(batch))
	p.Curves = []page.Curve{
		{Name: "roof", X: page.Numbers{low, ridge, high},
			Y: page.Numbers{low * r.BandwidthBps / tera, r.PeakFLOPS / tera, r.PeakFLOPS / tera}},
		batches,
	}
	return p
}

// batchesNote says which batches a plot has, and of which step.
func batchesNote(e *explain.Explanation) string {
	note := "context " + text.Count(e.Context) + ", batches that fit"
	if !e.Fits {
		note += " and this step's, which does not"
	}
	if e.Speculation != nil {
		note += "; without drafts"
	}
	return note
}

// batchesOf are steps and bounds by batch.
func batchesOf(e *explain.Explanation) *page.Plot {
	p := &page.Plot{Title: "Step by batch", Note: batchesNote(e),
		X: page.Axis{Name: "sequences", Log: true}, Y: page.Axis{Name: "time", Kind: page.Seconds}}
	step, bound := page.Curve{Name: "step"}, page.Curve{Name: "bound", Dash: true}
	for _, c := range e.Curve {
		if !c.Fits && c.Batch != e.Batch {
			continue
		}
		if c.Batch == e.Batch {
			step.Mark = len(step.X) + 1
		}
		step.X, step.Y = append(step.X, float64(c.Batch)), append(step.Y, c.StepS)
		bound.X, bound.Y = append(bound.X, float64(c.Batch)), append(bound.Y, c.BoundS)
	}
	p.Curves = []page.Curve{step, bound}
	return p
}
