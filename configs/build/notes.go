package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/workloads/requests"
)

// noteHardware warns of figures that nobody has checked, and of figures that are the user's own.
func (r *Replica) noteHardware(p *configs.Pool) {
	if _, changes, err := p.GPU.Hardware(); err == nil && len(changes) > 0 {
		r.notes = append(r.notes, fmt.Sprintf("gpu %s as the scenario says: %s", p.GPU, strings.Join(changes, ", ")))
	}
	if kind := r.Deployment.GPU.Kind; kind != "" {
		r.notes = append(r.notes, fmt.Sprintf("gpu %s is of kind %s: the rules of engine %s stand for its maker's "+
			"scheduler; the efficiencies of its steps: %s", r.Deployment.GPU.Name, kind, p.Engine,
			r.Deployment.Efficiency.Source))
	}
	if r.Deployment.GPU.SharedMemory {
		r.notes = append(r.notes, fmt.Sprintf("gpu %s shares its memory with the CPU: the operating system takes part of "+
			"it, and %s of %g leaves it little", p.GPU, p.Own("gpu_memory_utilization"), p.GPUMemoryUtilization))
	}
	var unread []string
	used := r.Deployment.Figures()
	for _, f := range r.Deployment.GPU.Fields() {
		if f.Unverified && slices.Contains(used, f.Path) {
			unread = append(unread, f.Path)
		}
	}
	if len(unread) > 0 {
		r.notes = append(r.notes,
			fmt.Sprintf("no document that was read states %s of gpu %s", strings.Join(unread, ", "), p.GPU))
	}
	if p.PipelineParallel > 1 && !schedulesStages(p) {
		prompts := "in one"
		if p.DataParallel > 1 {
			prompts = "of a rank too"
		}
		r.notes = append(r.notes,
			"pipeline_parallel is priced, not scheduled: decodes pass through the stages in equal microbatches, and prompts "+
				prompts)
	}
	switch d := &r.Deployment; {
	case !p.ExpertParallel || p.ExpertSkew > 0 || d.Parallel.Tensor*d.Parallel.Ranks() == 1:
	case d.Routing == (hardware.Routing{}) && d.Efficiency.ExpertImbalance == 0:
		r.notes = append(r.notes,
			"expert_parallel is priced with experts in balance: no GPU has more tokens than another")
	default:
		r.notes = append(r.notes, "expert_parallel: tokens choose experts at random, and GPUs wait for the busiest; experts "+
			"that some texts prefer are expert_skew")
	}
	if n := r.Deployment.BeyondHost(); n > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d GPUs exchange activations beyond a host: tables price that, and what was "+
			"fitted, with its errors, is of single hosts", n))
	}
	r.noteHost(p)
}

// noteModel says what of the model is not what its file says.
func (r *Replica) noteModel(s *configs.Scenario, p *configs.Pool) {
	if p.Model != "" {
		return
	}
	m := &r.Deployment.Model
	for _, change := range s.Model.Changes() {
		r.notes = append(r.notes, fmt.Sprintf("model %s: %s", m.Name, change))
	}
	if catalog.IsModelPath(s.Model.Config) {
		if x, err := s.Model.Read(); err == nil && x.Assumed != "" {
			r.notes = append(r.notes, fmt.Sprintf("model %s: %s", m.Name, x.Assumed))
		}
	}
	own := catalog.PrecisionInName(m.Name)
	if s.Model.Own() && own != "" && s.Weights == "" && m.Precision == llm.UniformPrecision() {
		r.notes = append(r.notes, fmt.Sprintf("model %s: its name says %s and its config.json no quantisation, so that its "+
			"weights count as bf16; expected weights: %s, or its hf_quant_config.json beside a config.json", m.Name, own, own))
	}
}

// noteHost warns of choices that cost time on a real host and none here, where the efficiencies do not tell its time
// from that of the GPU. Of a host that takes no time at all nothing is expected.
func (r *Replica) noteHost(p *configs.Pool) {
	e := &r.Deployment.Efficiency
	if e.LayerS == 0 {
		return
	}
	switch {
	case !p.EnforceEager || e.EagerLayerS > 0 && catalog.IsEfficiencyPath(p.Efficiency.Base):
	case e.EagerLayerS > 0:
		r.notes = append(r.notes,
			"enforce_eager: no decode without CUDA graphs was measured; what its launching takes the host is that of steps "+
				"of vLLM with prompts beyond the largest graph, on B300 (eager_layer_s)")
	default:
		r.notes = append(r.notes,
			"enforce_eager only saves the padding of CUDA graphs: the efficiencies have no eager_layer_s, the host's "+
				"time to launch a layer")
	}
	if !p.AsyncScheduling && e.StepS == 0 {
		r.notes = append(r.notes,
			"async_scheduling: false only lets arrivals join a step sooner: the efficiencies have no step_s, the host's "+
				"time between steps")
	}
}

// truncatedMax is the share of lengths that a law may cut before its mean is another than the scenario says.
const truncatedMax = 0.01

// warnings returns everything about the deployment and the sent requests that a reader of the results should know.
func (b *Built) warnings(sent int64) []string {
	notes := append(b.poolNotes(), b.noteLimits()...)
	if b.skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d rows of the recorded lengths were skipped: failed requests", b.skipped))
	}
	if t := b.trace(); t != nil && t.Skipped() > 0 {
		notes = append(notes, fmt.Sprintf("%d rows of the trace were skipped: failed or without tokens", t.Skipped()))
	}
	if t := b.trace(); t != nil && len(t.Unread()) > 0 {
		notes = append(notes, "the trace has columns that are not read: "+strings.Join(t.Unread(), ", "))
	}
	if t := b.trace(); t != nil && t.Columns().Sessions && t.Contents() == nil && b.Scenario.CachesPrefixes() {
		notes = append(notes, "the trace says which requests are turns of a session, and not by block ids (hash_ids) what "+
			"their prompts share: no turn finds in the cache what was said before, and TTFT and cost are too high by that")
	}
	if src, ok := b.source.(interface{ Truncated() requests.Truncated }); ok {
		cut := src.Truncated()
		prompts, outputs := drawn(b.Scenario, sent)
		for _, law := range []struct {
			key      string
			n, draws int64
		}{{"prompt_tokens", cut.Prompt, prompts}, {"output_tokens", cut.Output, outputs}} {
			if share := float64(law.n) / float64(max(1, law.draws)); share > truncatedMax {
				notes = append(notes, fmt.Sprintf("%.1f %% of %s were outside the law's bounds and were cut; "+
					"their mean is not the one stated", 100*share, law.key))
			}
		}
	}
	notes = append(notes, noteColdStarts(b.Scenario)...)
	notes = append(notes, noteChoices(b.Scenario)...)
	notes = append(notes, b.noteSessions()...)
	notes = append(notes, b.noteTasks()...)
	notes = append(notes, noteStream(b.Scenario)...)
	notes = append(notes, noteEnergy(b.Scenario.Energy, b.Replicas)...)
	return append(notes, notePrices(b.Replicas)...)
}

// Warnings returns what a reader of anything computed from a replica of s alone should know.
func Warnings(s *configs.Scenario, r *Replica) []string {
	notes := append(slices.Clone(r.notes), noteChoices(s)...)
	notes = append(notes, noteStream(s)...)
	return append(notes, notePrices([]*Replica{r})...)
}

// notePrices says whose price nobody states.
func notePrices(replicas []*Replica) (notes []string) {
	for _, gpu := range unpriced(replicas) {
		notes = append(notes, fmt.Sprintf("no cost: no source states a price of gpu %s", gpu))
	}
	return notes
}

// poolNotes returns what there is to say of the replicas of each pool; what is true of all pools is said once.
func (b *Built) poolNotes() (notes []string) {
	said := map[string]int{}
	for _, r := range b.Replicas {
		for _, note := range r.notes {
			said[note]++
		}
	}
	for i, r := range b.Replicas {
		for _, note := range r.notes {
			switch everywhere := said[note] == len(b.Replicas); {
			case !everywhere:
				notes = append(notes, fmt.Sprintf("pool %s: %s", b.Scenario.Pools[i].Name, note))
			case i == 0:
				notes = append(notes, note)
			}
		}
	}
	return notes
}
