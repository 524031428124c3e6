package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// Accuracy is what the page on accuracy says: predictions of measured runs, and what was scored away from the fits that
// made them.
type Accuracy struct {
	Method                calibration.Method
	HeldOut               []catalog.HeldOut
	Unfitted              []validation.Prediction // of runs that are not fitted to, under what is built in
	Published             *validation.Validation  // figures a value a row; nil: none were given
	Servers               Servers                 // among them, of unstated prompts
	Logs                  []*validation.Validation
	Excluded              []Excluded
	ExcludedDisaggregated []Excluded // disaggregated runs that are not simulated
	Replays               []Replay
	Occupied              []Occupied
	Prompts               []ColdPrompt
	Seventy               []AnchorStep
	Targets               []Target
}

// Excluded is why runs of a data set are not fitted to.
type Excluded struct {
	Data, Reason string
	Runs         int
}

// Replay is predictions of a run whose every request was measured.
type Replay struct {
	Run         string
	Under       string // what the efficiencies were fitted to
	Predictions []validation.Prediction
}

// ColdPrompt is the time to first token of one prompt on an idle server.
type ColdPrompt struct {
	Deployment string
	Tokens     int
	TTFTMS     float64
	BoundMS    float64 // its FLOPs over the peak of all GPUs
}

// AnchorStep is one decode step.
type AnchorStep struct {
	Deployment     string
	GPUs           int
	Batch, Context int
	BoundMS        float64
	StepMS         float64
}

// Target is a published speed, and what is known of deployments that might reach it.
type Target struct {
	Model      string
	TokensPerS float64
	Layers     int
	Steps      []AnchorStep
	Best       *validation.Prediction // fastest TPOT measured of the model without speculation; nil: none
}

// DataSet names the data that a run is from by a letter, as the page explains them.
func DataSet(l *measured.Labels) string {
	switch l.Source {
	case "inferencex", "nvidia_gap":
		return "A"
	case "inferencex-profiling":
		return "A3"
	case "inference-perf stages":
		return "B"
	case "inference-perf experiments":
		return "C"
	case "request timings":
		return "D"
	case "token-position":
		return "E"
	case "splitwise":
		return "F"
	case "steps, one rank", "steps, one of several ranks":
		return "H"
	}
	if catalog.Published(l) {
		return "G"
	}
	return "other"
}

// cut picks predictions.
type cut func(*validation.Prediction) bool

// allOf picks what every cut does.
func allOf(cuts ...cut) cut {
	return func(p *validation.Prediction) bool {
		return !slices.ContainsFunc(cuts, func(c cut) bool { return !c(p) })
	}
}

// leads picks the leading statistic of a metric, of many requests together.
func leads(m measured.Metric) cut {
	return func(p *validation.Prediction) bool {
		return p.Value.Name == m.String() && p.Row.Request < 0
	}
}

// ofData picks data sets.
func ofData(names ...string) cut {
	return func(p *validation.Prediction) bool { return slices.Contains(names, DataSet(&p.Run.Labels)) }
}

// under picks an engine.
func under(name string) cut {
	return func(p *validation.Prediction) bool { return p.Run.Labels.Engine == name }
}

// ofKind picks what was measured.
func ofKind(name string) cut {
	return func(p *validation.Prediction) bool { return p.Run.Labels.Kind == name }
}

// wholeRuns leaves out rows about a stage of a run.
func wholeRuns(p *validation.Prediction) bool { return p.Row.ToS == 0 }

// summed is the errors of predictions, and how many deployments they are of.
type summed struct {
	validation.Errors
	deployments int
}

func errorsIn(predictions []validation.Prediction, keep cut) summed {
	var percents []float64
	var deployments []string
	for i := range predictions {
		if p := &predictions[i]; p.Skip == "" && keep(p) {
			percents = append(percents, 100*p.Error())
			deployments = append(deployments, p.Run.Labels.Deployment())
		}
	}
	slices.Sort(deployments)
	return summed{validation.ErrorsOf(percents), len(slices.Compact(deployments))}
}

// predictionsOf returns the predictions with that part of the data held out.
func (a *Accuracy) predictionsOf(name string) []validation.Prediction {
	for i := range a.HeldOut {
		if a.HeldOut[i].Name == name {
			return a.HeldOut[i].Predictions
		}
	}
	return nil
}

// named are predictions of one name.
type named struct {
	name        string
	order       int
	predictions []validation.Prediction
}

// groupBy parts the predictions that are scored by name, in order of what comes with the names and then of these.
func groupBy(predictions []validation.Prediction, keep cut, name func(*validation.Prediction) (string, int)) []named {
	var groups []named
	place := map[string]int{}
	for i := range predictions {
		p := &predictions[i]
		if p.Skip != "" || !keep(p) {
			continue
		}
		n, order := name(p)
		at, ok := place[n]
		if !ok {
			at = len(groups)
			place[n] = at
			groups = append(groups, named{name: n, order: order})
		}
		groups[at].predictions = append(groups[at].predictions, *p)
	}
	slices.SortFunc(groups, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.order, b.order),
			cmp.Compare(a.name, b.name))
	})
	return groups
}

// byDeployment names predictions by their deployment.
func byDeployment(p *validation.Prediction) (name string, order int) {
	return deploymentName(&p.Run.Labels), 0
}

// Scored is the predictions of whole runs with part of the data held out, without single requests, as plots take them.
func (a *Accuracy) Scored(heldOut string, engines ...string) *validation.Validation {
	f := &measured.File{Path: "accuracy.md", Schema: heldOut}
	var scored []validation.Prediction
	predictions := a.predictionsOf(heldOut)
	for i := 0; i < len(predictions); {
		run, from := predictions[i].Run, i
		for i < len(predictions) && predictions[i].Run == run {
			i++
		}
		if len(engines) > 0 && !slices.Contains(engines, run.Labels.Engine) {
			continue
		}
		whole := *run
		whole.Rows = slices.DeleteFunc(slices.Clone(run.Rows), func(r measured.Row) bool { return r.Request >= 0 })
		f.Runs = append(f.Runs, whole)
		for _, p := range predictions[from:i] {
			if p.Row.Request < 0 {
				scored = append(scored, p)
			}
		}
	}
	return validation.Score(f, scored)
}

// deploymentName is how a deployment is written in a table.
func deploymentName(l *measured.Labels) string {
	return strings.Join([]string{l.Model, l.GPU, l.Engine, l.Precision, l.Parallel}, " · ")
}
