package catalog

import (
	"github.com/decodesim/decodesim/internal/measured"
)

// A log has thousands of steps of a deployment, nearly all of them decodes of few shapes. The fit sees StepsPerKind of
// each kind, evenly spaced in the log, which weigh together what RunsPerKind runs of a deployment do.
const (
	StepsPerKind = 20
	RunsPerKind  = 8
)

// notSampled is why the fit does not see a step.
const notSampled = "steps beside the sample that is fitted to"

// stepSample is how much each sampled step weighs, by deployment and kind.
type stepSample map[[2]string]float64

// sampleSteps leaves a sample of the steps among runs, and says of the others that they are not in it.
func sampleSteps(runs []measured.Run) stepSample {
	kinds := map[[2]string][]*measured.Run{}
	for i := range runs {
		if r := &runs[i]; r.Skip == "" && r.Priced != nil {
			k := kindOf(r)
			kinds[k] = append(kinds[k], r)
		}
	}
	weights := stepSample{}
	for k, of := range kinds {
		chosen := map[int]bool{}
		for i := range min(len(of), StepsPerKind) {
			chosen[(2*i+1)*len(of)/(2*min(len(of), StepsPerKind))] = true
		}
		for i, r := range of {
			if !chosen[i] {
				r.Skip = notSampled
			}
		}
		weights[k] = float64(RunsPerKind) / float64(len(chosen))
	}
	return weights
}

func kindOf(r *measured.Run) [2]string { return [2]string{r.Labels.Deployment(), r.Labels.Kind} }

// weigh returns what a run weighs beside others of its deployment.
func (s stepSample) weigh(r *measured.Run) float64 {
	if r.Priced == nil {
		return 1
	}
	return s[kindOf(r)]
}
