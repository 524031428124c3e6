package validation

import (
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/sim"
)

// seconds prices the step of a run, and says how long the data sheet makes it last at least. A replica that runs such
// steps alone is that of a pool for them.
func (r *replica) seconds(run *measured.Run, with Efficiencies) (priced, bound float64) {
	step, model := run.Priced.Step, r.Model
	if with != nil || step.Separate {
		d := r.Deployment
		if step.Separate {
			d.Phase = phase(step)
		}
		if with != nil {
			d.Efficiency = with(run, &d)
		}
		model = hardware.NewRoofline(d, 0)
	}
	var g sim.Segment
	model.Price([]sim.Shape{stepShape(r.Replica, step)}, &g)
	return g.First.Seconds(), g.Bound.A.Seconds()
}

// phase is what a pool does all of whose steps are like this one.
func phase(step *measured.Step) hardware.Phase {
	switch {
	case step.Decodes == 0:
		return hardware.PromptsOnly
	case step.Prefills == 0:
		return hardware.DecodesOnly
	}
	return hardware.BothPhases
}

// stepShape returns the shape of a step of alike sequences.
func stepShape(r *build.Replica, step *measured.Step) sim.Shape {
	var b sim.Shape
	if step.Decodes > 0 {
		b = r.Model.Shape(step.Decodes, step.DecodeContext)
	}
	if n := int64(step.Decodes) * int64(step.Drafts); n > 0 {
		b.Drafts, b.DecodeTokens = n, b.DecodeTokens+n
		b.DecodeCtx, b.Outputs = b.DecodeCtx+n, b.Outputs+int(n)
	}
	windows := r.Deployment.Windows()
	for range step.Prefills {
		b.AddChunk(windows, int64(step.ChunkContext), int64(step.ChunkTokens), 1)
		if !step.Unfinished {
			b.Outputs++
		}
	}
	if step.OneRank {
		b.Prefills = min(b.Prefills, 1) // as one chunk is, they are of one rank
	}
	return b
}
