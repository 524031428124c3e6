package catalog

import (
	"context"
	"slices"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/longform"
	"github.com/decodesim/decodesim/internal/validation"
)

// throughputOfLists is the kind of published figures that are fitted to: batches of a list of requests do not depend on
// how long steps take, as those of a server at a rate do.
const throughputOfLists = "offline_throughput"

// PublishedWeight is what such a figure weighs beside a run of which TPOT and TTFT are known: it is one number for
// both, and the limits of its batch are not stated.
const PublishedWeight = 0.16

// Published reports whether a run is a published figure, a value a row.
func Published(l *measured.Labels) bool { return slices.Contains(longform.Kinds(), l.Kind) }

// PredictPublished simulates published figures: those that are fitted to without their deployment in the fit, and the
// others under what is built in.
func (c *Catalog) PredictPublished(ctx context.Context, runs []measured.Run) ([]validation.Prediction, error) {
	leftOut := map[string]hardware.Efficiency{}
	for run, e := range c.Without(func(r *calibration.Run) string { return r.Run.Labels.Deployment() }) {
		if Published(&run.Labels) {
			leftOut[run.ID] = e
		}
	}
	sets := Sets(c.Efficiencies())
	return validation.Predict(ctx, runs, func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
		if e, ok := leftOut[run.ID]; ok {
			return e
		}
		return sets.On(&run.Labels, d)
	}, nil)
}
