package describe

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// Head describes what was simulated, a line each.
func Head(b *build.Built) string {
	lines := [][2]string{{"model", modelLine(&b.Deployment)}}
	if len(b.Scenario.Pools) == 1 {
		lines = append(lines, poolLines(&b.Scenario.Pools[0], b.Replica, b.PromptMean+b.OutputMean)...)
	}
	lines = slices.Insert(lines, min(3, len(lines)), [2]string{"speculation", speculationLine(b)})
	var s strings.Builder
	add := func(lines ...[2]string) {
		for _, line := range lines {
			if line[1] != "" {
				fmt.Fprintf(&s, "%-12s %s\n", line[0], line[1])
			}
		}
	}
	add(lines...)
	if len(b.Scenario.Pools) > 1 {
		for i := range b.Scenario.Pools {
			p := &b.Scenario.Pools[i]
			of := poolLines(p, b.Replicas[i], b.PromptMean+b.OutputMean)
			of[0][0] = "pool " + p.Name
			if p.Name != p.Role {
				of[0][1] = p.Role + ": " + of[0][1]
			}
			add(append(of, [2]string{"KV transfer", transferLine(b, i)})...)
		}
	}
	add([2]string{"workload", workloadLine(b)})
	add(accuracyLines(b.Scenario)...)
	return s.String()
}

// accuracyLines say how far the results are to be expected off, a line for each kind of replica.
func accuracyLines(s *configs.Scenario) (lines [][2]string) {
	for i, line := range expected.Sentences(expected.Of(s)) {
		name := ""
		if i == 0 {
			name = "accuracy"
		}
		lines = append(lines, [2]string{name, line})
	}
	return lines
}

// poolLines describes a pool, a line each.
func poolLines(p *configs.Pool, r *build.Replica, lengthMean float64) [][2]string {
	m := &r.Memory
	return [][2]string{
		{"hardware", Replicas(p)},
		{"engine", engineLine(p, r)},
		{"memory", fmt.Sprintf("%s GB of each GPU: %s weights%s, %s activations, %s context, %s KV cache%s", Giga(m.Usable),
			Giga(m.Weights), Slots(m.Adapters),
			Giga(m.Activations), Giga(m.Context), Giga(m.KV), MemoryShareOf(p))},
		{"KV cache", cacheLine(p, r, lengthMean)},
	}
}

// Slots says what the slots of LoRA adapters take of a GPU; empty: there are none.
func Slots(bytes float64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(", %s adapter slots", Giga(bytes))
}

// engineLine says in the engine's own words what it puts into a batch.
func engineLine(p *configs.Pool, r *build.Replica) string {
	said := p.Engine + ":"
	for i, limit := range []struct {
		key   string
		value int
	}{{"max_num_seqs", p.MaxNumSeqs}, {"max_num_batched_tokens", p.MaxNumBatchedTokens},
		{"max_model_len", int(r.MaxModelLen)}} {
		if i > 0 {
			said += ","
		}
		said += fmt.Sprintf(" %s %s", p.Own(limit.key), text.Count(limit.value))
	}
	return said
}

// speculationLine says what is drafted, and what to expect of it; empty: nothing is.
func speculationLine(b *build.Built) string {
	v := &b.Scenario.Speculation
	if !v.On() {
		return ""
	}
	line := v.Method
	if v.DraftModel != "" {
		line += " " + v.DraftModel
	}
	accept, err := build.NewAcceptance(b.Scenario)
	if err != nil {
		return line // Build has refused it
	}
	switch most := v.DraftsMax(); {
	case len(v.Adaptive) > 0:
		line += fmt.Sprintf(", up to %d drafts a step by the size of the batch", most)
	default:
		line += fmt.Sprintf(", %d drafted a step: %s tokens a step and sequence expected", most,
			text.Significant(accept.Length(most)))
	}
	if v.DisableAboveBatch > 0 {
		line += fmt.Sprintf(", none while more than %s sequences decode", text.Count(v.DisableAboveBatch))
	}
	return line
}

// MemoryShareOf says in the engine's own words what its share of the memory is one of, where it is not of what is
// printed.
func MemoryShareOf(p *configs.Pool) string {
	own := fmt.Sprintf("; %s %g of ", p.Own("gpu_memory_utilization"), p.GPUMemoryUtilization)
	switch p.MemoryShareOf() {
	case hardware.OfStatic:
		return own + "the GPU for weights and cache"
	case hardware.OfFree:
		return own + "what the rest leaves for the cache"
	}
	return ""
}

func modelLine(d *hardware.Deployment) string {
	return fmt.Sprintf("%s: %s; %s weights; %s KV cache, %s", d.Model.Name, ShapeOf(&d.Model), WeightsOf(&d.Model),
		d.KVDtype, CachePerToken(d))
}

// ShapeOf is the size of a model and what its layers are.
func ShapeOf(m *llm.Model) string {
	size := billions(m.ParamsTotal()) + " parameters"
	if m.Experts() > 0 {
		size += fmt.Sprintf(" (%s active)", billions(m.Active()))
	}
	attention := m.AttentionKind()
	if attention != strings.ToUpper(attention) {
		attention += " attention" // such as "sliding window"; MLA is attention by name
	}
	size += fmt.Sprintf(" in %d layers, %s", m.LayerCount(), attention)
	if m.Experts() > 0 {
		size += fmt.Sprintf(", %d of %d experts", m.TopK(), m.Experts())
	}
	return size
}

// CachePerToken is what a token adds to the cache, and how often the GPUs of a replica store that.
func CachePerToken(d *hardware.Deployment) string {
	once, stored := d.KVBytesPerToken()
	said := text.Scaled(once, "B") + " per token"
	if grown := d.KVBytesGrown(); grown < once {
		said += fmt.Sprintf(" until its windows are full, %s after", text.Scaled(grown, "B"))
	}
	if stored > once {
		said += fmt.Sprintf(", stored %s times over its GPUs", text.Short(stored/once))
	}
	return said
}

// WeightsOf names the format of the class that holds most weights.
func WeightsOf(m *llm.Model) string {
	most, name := int64(0), ""
	for c, n := range m.Params() {
		if n > most {
			most, name = n, m.ComputeDtype(llm.WeightClass(c))
		}
	}
	return name
}

// Replicas says what a pool consists of.
func Replicas(p *configs.Pool) string {
	said := "1 replica"
	if p.Replicas > 1 {
		said = fmt.Sprintf("%d replicas", p.Replicas)
	}
	if p.ReplicasMax > p.Replicas {
		said += fmt.Sprintf(", up to %d,", p.ReplicasMax)
	}
	said += fmt.Sprintf(" of %d × %s", p.GPUs(), p.GPU)
	if p.TensorParallel > 1 {
		said += fmt.Sprintf(", tensor parallel %d", p.TensorParallel)
	}
	if p.PipelineParallel > 1 {
		said += fmt.Sprintf(", pipeline parallel %d", p.PipelineParallel)
	}
	return said
}

// Pools says what each pool of a scenario consists of.
func Pools(s *configs.Scenario) string {
	if len(s.Pools) == 1 {
		return Replicas(&s.Pools[0])
	}
	var each []string
	for i := range s.Pools {
		each = append(each, s.Pools[i].Name+": "+Replicas(&s.Pools[i]))
	}
	return strings.Join(each, "; ")
}

// Deployment says in words what a scenario deploys.
func Deployment(s *configs.Scenario) string { return ModelOf(s) + " · " + Pools(s) }

// ModelOf names the model of a scenario, and what of its file is not believed.
func ModelOf(s *configs.Scenario) string {
	name := catalog.NameOf(s.Model.Config)
	if changes := s.Model.Changes(); len(changes) > 0 {
		name += " (" + strings.Join(changes, "; ") + ")"
	}
	return name
}

// cacheLine says how much a replica holds, in tokens and in requests of mean length.
func cacheLine(p *configs.Pool, r *build.Replica, lengthMean float64) string {
	size := int64(p.BlockSize)
	said := fmt.Sprintf("%s blocks of %d tokens a replica: %s tokens", text.Count(r.KVBlocks), size,
		thousands(r.KVBlocks*size))
	if size == 1 {
		said = fmt.Sprintf("%s tokens a replica", thousands(r.KVBlocks))
	}
	if lengthMean > 0 {
		each := r.Memory.BlocksOf(int64(math.Ceil(lengthMean)), size)
		said += fmt.Sprintf(", %s requests of mean length", text.Count(r.KVBlocks/each))
	}
	return said
}

// transferLine says how the i-th pool transfers KV, and what that takes where nothing shares the link; empty: it does
// not.
func transferLine(b *build.Built, i int) string {
	p := &b.Scenario.Pools[i]
	for _, route := range b.Config.Routes {
		for _, stage := range route[:len(route)-1] {
			if stage.Pool != i {
				continue
			}
			how, link := p.KVTransfer, p.KVLink
			if how == "" {
				how = "embeddings"
			}
			if link == "" {
				link = text.Scaled(p.KVLinkBps, "B/s")
			}
			l := &stage.Link
			unshared := l.Latency.Seconds() + l.Fixed.Seconds() + float64(l.Token.Seconds()*b.PromptMean) +
				float64(l.Windowed.Seconds()*min(b.PromptMean, float64(l.Window)))
			return fmt.Sprintf("%s over %s, %s ms for a prompt of mean length", how, link, text.Short(1e3*unshared))
		}
	}
	return ""
}

func workloadLine(b *build.Built) string {
	w := &b.Scenario.Workload
	var parts []string
	switch {
	case w.Trace != nil:
		parts = append(parts, filepath.Base(w.Trace.File)+rescaled(b)+perSecond(b.RatePerS))
	case w.ClosedLoop != nil:
		parts = append(parts, fmt.Sprintf("%s clients that wait for their answers", text.Count(w.ClosedLoop.Concurrency)))
	case w.Waits():
		parts = append(parts, fmt.Sprintf("%s, %s %ss/s (%s requests/s)", w.Arrivals.Process,
			text.Short(b.RatePerS/b.TurnsMean()), series(w), text.Short(b.RatePerS)))
	case w.ByClass():
		parts = append(parts, "classes with arrivals of their own"+perSecond(b.RatePerS))
	case w.Clients != nil:
		parts = append(parts, fmt.Sprintf("%s clients, %s%s", text.Count(w.Clients.Count), w.Arrivals.Process,
			perSecond(b.RatePerS)))
	default:
		parts = append(parts, w.Arrivals.Process+perSecond(b.RatePerS))
	}
	promptLaw, outputLaw := w.PromptTokens, w.OutputTokens
	if turns := b.TurnsMean(); turns > 0 {
		parts = append(parts, fmt.Sprintf("in %ss of %s turns on average", series(w), text.Short(turns)))
		promptLaw = nil // it is what a turn adds
	}
	if len(w.Classes) > 0 {
		parts = append(parts, shares(b))
		promptLaw, outputLaw = nil, nil
	}
	if w.Reasons() {
		outputLaw = nil
	}
	outputs := lengthsLine("outputs", outputLaw, b.OutputMean)
	if w.Reasons() {
		outputs += ", reasoning included"
	}
	if w.MaxTokens > 0 {
		outputs += fmt.Sprintf(", cut at %s", text.Count(w.MaxTokens))
	}
	switch d := &b.Scenario.Decoding; {
	case d.BeamWidth > 1:
		outputs += fmt.Sprintf(" on %d paths each", d.BeamWidth)
	case d.N > 1:
		outputs += fmt.Sprintf(", %d to each prompt", d.N)
	}
	parts = append(parts, lengthsLine("prompts", promptLaw, b.PromptMean)+" tokens", outputs)
	switch {
	case w.DurationS > 0 && w.Trace == nil:
		parts = append(parts, fmt.Sprintf("for %s s", text.Short(w.DurationS)))
	case b.Requests > 0:
		parts = append(parts, text.Short(b.Requests)+" "+text.Plural("request", int64(math.Ceil(b.Requests))))
	}
	if w.WarmupS > 0 {
		parts = append(parts, fmt.Sprintf("the first %s s not measured", text.Short(w.WarmupS)))
	}
	return strings.Join(parts, "; ")
}

// series is what turns make up.
func series(w *configs.Workload) string {
	if w.Tasks() {
		return "task"
	}
	return "session"
}

// rescaled says by what the times of a trace were divided, where a rate was asked for.
func rescaled(b *build.Built) string {
	if b.Scenario.Workload.Trace.Rate == 0 {
		return ""
	}
	return fmt.Sprintf(" at %s times its pace", text.Short(b.TraceSpeed()))
}

// shares names the classes of a workload.
func shares(b *build.Built) string {
	var parts []string
	for i := range b.Scenario.Workload.Classes {
		k := &b.Scenario.Workload.Classes[i]
		share := k.Share
		if k.Arrivals != nil {
			share = b.Mixed().Shares()[i]
		}
		parts = append(parts, fmt.Sprintf("%s %% %s", text.Short(100*share), k.Name))
	}
	return strings.Join(parts, " and ")
}

// perSecond is a rate where one is known: requests that come at one instant have none.
func perSecond(rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(", %s requests/s", text.Short(rate))
}

// lengthsLine names a law and its mean; a trace has none.
func lengthsLine(what string, law *lengths.Spec, mean float64) string {
	switch {
	case law == nil:
		return fmt.Sprintf("%s of mean %s", what, text.Short(mean))
	case law.Distribution == "fixed":
		return fmt.Sprintf("%s of %s", what, text.Short(mean))
	}
	return fmt.Sprintf("%s %s of mean %s", law.Distribution, what, text.Short(mean))
}

func billions(n int64) string { return text.Short(float64(n)/1e9) + " G" }

// Giga prints bytes as GB.
func Giga(bytes float64) string { return text.Short(bytes / 1e9) }

// thousands prints n with a prefix.
func thousands(n int64) string {
	if n < 1e4 {
		return text.Count(n)
	}
	return text.Scaled(float64(n), "")
}
