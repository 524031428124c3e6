package explain

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/text"
)

// Text writes the explanation for people.
func Text(s *Step, x *Explanation) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	name := ""
	if x.Scenario != "" {
		name = x.Scenario + " · "
	}
	if len(s.scenario.Pools) > 1 {
		name += "pool " + s.Pool.Name + " · "
	}
	line("%s%s · %s · %s weights · %s KV cache · %s", name, x.Model, replicaOf(s.Pool),
		strings.TrimLeft(x.Sparsity+" "+x.Weights, " "), x.KVCache, x.Engine)
	line("%s; KV cache of %s", describe.ShapeOf(&s.Deployment.Model), describe.CachePerToken(&s.Deployment))
	line("one decode step: batch %s%s, context %s%s", text.Count(x.Batch), because(s.batchWhy), text.Count(x.Context),
		because(s.contextWhy))
	explainShare(line, s, x)
	for _, e := range x.Expected {
		line("accuracy: %s", expected.Sentence(&e))
	}
	line("")
	explainParts(&b, x)
	line("")
	explainLimits(line, s, x)
	line("")
	explainMemory(line, x)
	explainLoads(line, x)
	line("")
	explainLadder(&b, x)
	if x.Speculation != nil {
		line("")
		explainDrafting(&b, s, x)
	}
	for _, warning := range x.Warnings {
		line("warning: %s", warning)
	}
	return b.Bytes()
}

// replicaOf names the GPUs of one replica.
func replicaOf(p *configs.Pool) string {
	one := *p
	one.Replicas = 1
	return strings.TrimPrefix(describe.Replicas(&one), "1 replica of ")
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// explainShare says what the busiest GPU has of the batch, where that is not all of it as it is.
func explainShare(line func(string, ...any), s *Step, x *Explanation) {
	if x.Data > 1 {
		line("data parallel: %d ranks in lock step, of up to %s sequences each; experts see %s tokens at once", x.Data,
			text.Count(x.RankBatch),
			text.Count(s.Model.Share(s.batch).Tokens))
	}
	if x.ExpertsUneven > 0 {
		line("expert parallel: the busiest GPU reads %s times the mean of experts", text.Significant(x.ExpertsUneven))
	}
	if a := x.Sent; a != nil {
		hosts := ""
		if a.Domains > 1 {
			hosts = fmt.Sprintf(", in %s of %d scale-up domains", text.Significant(a.DomainsReached), a.Domains)
		}
		line("all-to-all: a copy of a token takes %s to dispatch and %s to combine; its experts are on %s of %d GPUs%s",
			text.Scaled(a.DispatchBytes, "B"), text.Scaled(a.CombineBytes, "B"), text.Significant(a.GPUsReached), a.GPUs, hosts)
	}
	if x.Pipeline > 1 {
		line("pipeline: %d stages, each with %s rows at a time", x.Pipeline, text.Count(x.Rows))
	}
	switch floor := s.Model.Share(s.batch).LaunchS; {
	case x.Eager && floor > 0:
		line("eager: no CUDA graph runs %s rows; launching takes the host at least %s ms", text.Count(x.Rows), milli(floor))
	case x.Eager:
		line("eager: no CUDA graph runs %s rows; what launching takes is not known (eager_layer_s is 0)", text.Count(x.Rows))
	case x.RowsPadding > 0:
		line("CUDA graph: the linear layers run %s rows, %s of them padding", text.Count(x.Rows), text.Count(x.RowsPadding))
	}
}

// explainParts is the table by part, of one GPU.
func explainParts(b *bytes.Buffer, x *Explanation) {
	head := "part"
	if x.GPUs > 1 {
		head = "part, on each GPU"
	}
	rows := [][]string{{head, "bytes", "FLOPs", "FLOP/byte", "memory ms", "compute ms", "time ms", "of peak", "share",
		"limit"}}
	for _, p := range x.Parts {
		name := p.Name
		if name == expertsPart {
			name = fmt.Sprintf("experts (%s of %d)", text.Short(x.ExpertsRead), x.Experts)
		}
		switch {
		case p.Algorithm != "":
			rows = append(rows, []string{name + ", " + p.Algorithm, "", "", "", "", "", milli(p.TimeS), percentOf(p.LinkOfPeak),
				percentOf(p.Share), ""})
			continue
		case p.Bytes == 0 && p.TimeS == 0:
			continue
		case p.Bytes == 0:
			rows = append(rows, []string{name, "", "", "", "", "", milli(p.TimeS), "", percentOf(p.Share), ""})
			continue
		}
		rows = append(rows, []string{
			name, text.Scaled(p.Bytes, "B"), text.Scaled(p.FLOPs, ""), text.Short(p.FLOPs / p.Bytes), milli(p.MemoryS),
			milli(p.ComputeS),
			milli(p.TimeS), percentOf(p.ofPeak()), percentOf(p.Share), p.Limit,
		})
	}
	intensity := text.Short(x.FLOPsTotal / x.BytesTotal)
	rows = append(rows,
		[]string{"step", text.Scaled(x.BytesTotal, "B"), text.Scaled(x.FLOPsTotal, ""), intensity, "", "", milli(x.StepS),
			percentOf(x.Fraction), "100 %", ""},
		[]string{"bound, at peak", "", "", "", milli(x.MemoryS), milli(x.ComputeS), milli(x.BoundS), "",
			percentOf(x.Fraction), x.Limit})
	aligned(b, rows)
}

// explainLimits says in sentences what limits the step and from where on something else does.
func explainLimits(line func(string, ...any), s *Step, x *Explanation) {
	line("The step takes %s ms, %s × its bound of %s ms, for %s tokens/s: %s.", milli(x.StepS),
		text.Significant(x.StepS/x.BoundS), milli(x.BoundS),
		text.Significant(x.TokensPerS), sharesOf(x))
	bandwidth := text.Scaled(s.Deployment.GPU.BandwidthBps.Value, "B/s")
	if x.Limit == "memory" {
		line("Memory sets the bound: %s at %s take %s ms, the arithmetic %s ms.", text.Scaled(x.BytesTotal, "B"), bandwidth,
			milli(x.MemoryS), milli(x.ComputeS))
	} else {
		line("Compute sets the bound: the arithmetic takes %s ms, %s at %s %s ms.", milli(x.ComputeS),
			text.Scaled(x.BytesTotal, "B"), bandwidth, milli(x.MemoryS))
	}
	if hidden := x.hiddenS(); hidden > 0 {
		line("Dispatch and combine take %s ms more, which pass while the GPU computes (batch_overlap %s).", milli(hidden),
			s.Deployment.Parallel.Overlap)
	}
	line("Batch: %s", batchSentence(s, x))
	line("Context: %s", contextSentence(s, x))
	if x.ChunkFloorS > 0 {
		line("Prompts: attention of a chunk that ends at this context takes at least %s ms, for one of %s multiprocessors "+
			"walks all its keys; more from %s tokens of the chunk.", milli(x.ChunkFloorS),
			text.Count(int(s.Deployment.GPU.Multiprocessors.Value)), text.Count(x.ChunkFloorTokens))
	}
}

// hiddenS is how much of collectives passes while the GPU computes.
func (x *Explanation) hiddenS() (sum float64) {
	for _, p := range x.Parts {
		sum += p.HiddenS
	}
	return sum
}

// leastPrinted is the share of a step that does not round to none.
const leastPrinted = 0.005

// computeShare is that of arithmetic that kernels do not keep far below the peak.
func (x *Explanation) computeShare() float64 { return max(0, x.Share.Compute-x.KernelShare) }

// sharesOf lists what the time goes to, the least of it left out.
func sharesOf(x *Explanation) string {
	share := &x.Share
	var parts []string
	for _, p := range []struct {
		name  string
		share float64
	}{
		{"weights", share.Weights}, {"KV", share.KV}, {"compute", x.computeShare()},
		{"kernels far below the peak FLOP/s", x.KernelShare}, {"communication", share.Communication},
		{"overhead", share.Overhead},
	} {
		if p.share >= leastPrinted {
			parts = append(parts, fmt.Sprintf("%.0f %% %s", 100*p.share, p.name))
		}
	}
	return strings.Join(parts, ", ")
}

// batchSentence says from which batch on compute limits.
func batchSentence(s *Step, x *Explanation) string {
	sequencesMax := s.sequencesMax()
	said := ""
	switch {
	case x.computeFrom == 0:
		said = fmt.Sprintf(
			"at %s tokens of context memory binds every batch, for reading a sequence's cache takes longer than its arithmetic",
			text.Count(x.Context))
	case x.SwitchBatch == nil:
		said = fmt.Sprintf(
			"memory-bound up to batch %s, never compute-bound within the %s that the engine runs at this context",
			text.Count(x.computeFrom-1), text.Count(sequencesMax))
	case x.computeFrom == 1:
		said = "compute-bound at every batch"
	default:
		said = fmt.Sprintf("memory-bound until batch %s; compute-bound beyond", text.Count(x.computeFrom-1))
	}
	switch {
	case x.linearFrom == 0:
		return said + "."
	case x.LinearSwitchBatch == nil:
		why := "which does not fit"
		if x.linearFrom <= x.Memory.Sequences {
			why = "above max_num_seqs"
		}
		return said + fmt.Sprintf("; the linear layers by themselves would be compute-bound from batch %s, %s.",
			text.Count(x.linearFrom), why)
	}
	return said + fmt.Sprintf("; the linear layers by themselves are compute-bound from batch %s.",
		text.Count(x.linearFrom))
}

// contextSentence says from which context on the cache is read longer than the weights.
func contextSentence(s *Step, x *Explanation) string {
	most, limit := s.roomiest(), s.Deployment.Model.ContextMax
	switch {
	case x.cacheFrom == 0:
		return fmt.Sprintf("cache reads outweigh the weights at no context of up to %s tokens, at this batch.",
			text.Count(limit))
	case x.SwitchContext == nil && most == 0:
		return fmt.Sprintf("cache reads would outweigh the weights from context %s; but this batch fits at no context.",
			text.Count(x.cacheFrom))
	case x.SwitchContext == nil:
		return fmt.Sprintf(
			"cache reads would outweigh the weights from context %s, never within what fits: %s tokens each, at this batch.",
			text.Count(x.cacheFrom), text.Count(most))
	}
	return fmt.Sprintf("cache reads outweigh the weights from context %s, at this batch; up to %s tokens each fit.",
		text.Count(x.cacheFrom), text.Count(most))
}

func explainMemory(line func(string, ...any), x *Explanation) {
	m := &x.Memory
	line("Memory of a GPU: %s GB usable of %s: %s weights%s, %s activations, %s context, %s KV cache%s.",
		describe.Giga(m.Usable), describe.Giga(m.Total),
		describe.Giga(m.Weights), describe.Slots(m.Adapters), describe.Giga(m.Activations), describe.Giga(m.Context),
		describe.Giga(m.KV), x.memoryShare)
	line(
		"The cache has %s blocks of %s (%s each; %s per token over all GPUs), room for %s sequences of %s tokens or one of "+
			"%s.",
		text.Count(int(m.Blocks)), tokensOf(m.BlockSize), text.Scaled(m.Block, "B"), text.Scaled(x.KVBytesStored, "B"),
		text.Count(m.Sequences), text.Count(x.Context),
		text.Count(m.MaxModelLen))
	if x.TokenizeS > 0 {
		line("Before its queue prompts are tokenised one after the other, in %s a token: at most %s a tokenizer.",
			text.Duration(x.TokenizeS), text.Scaled(1/x.TokenizeS, "tokens/s"))
	}
}

func tokensOf(n int) string {
	if n == 1 {
		return "1 token"
	}
	return fmt.Sprintf("%d tokens", n)
}

// explainLadder is the step by batch: what fits, and the first that does not.
func explainLadder(b *bytes.Buffer, x *Explanation) {
	rows := [][]string{{"batch", "step ms", "tokens/s per GPU", "× bound", "limit", ""}}
	for _, c := range x.Curve {
		var notes []string
		if c.Batch == x.Batch {
			notes = append(notes, "this step")
		}
		if c.Batch > x.Memory.Sequences {
			notes = append(notes, "does not fit")
		} else if !c.Fits {
			notes = append(notes, "above max_num_seqs")
		}
		rows = append(rows, []string{
			text.Count(c.Batch), milli(c.StepS), text.Significant(c.TokensPerSPerGPU), text.Significant(c.StepS / c.BoundS),
			c.Limit,
			strings.Join(notes, ", "),
		})
		if !c.Fits && c.Batch >= x.Batch {
			break
		}
	}
	aligned(b, rows)
}

// aligned writes rows in columns: the first to the left, like the last of a head without a name, the others to the
// right.
func aligned(b *bytes.Buffer, rows [][]string) {
	if last := len(rows[0]) - 1; rows[0][last] == "" {
		b.WriteString(text.Table(rows, last))
	} else {
		b.WriteString(text.Table(rows))
	}
}

// milli prints seconds as milliseconds with three significant digits.
func milli(seconds float64) string { return text.Significant(seconds * 1e3) }

func percentOf(share float64) string { return text.Significant(100*share) + " %" }
