package groundtruth

import (
	"cmp"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// splitwise is a table of single steps, one shape of batch a row: a batch of equal prompts was sent to an idle server
// at once, prompt_time is the step that prefilled all of them and token_time the mean decode step of that batch. The
// stack is one of 2023 that launches every kernel by itself, so its efficiencies are no other engine's.
var splitwise = datafile.Schema{
	Name: "prompt and token steps",
	About: "prompt and token steps (CSV with id, model, hardware, tp, prompt_size, batch_size, token_size, " +
		"prompt_time_ms_mean, token_time_ms_mean)",
	Columns: []string{
		"id", "model", "hardware", "tp", "prompt_size", "batch_size", "token_size", "prompt_time_ms_mean",
		"token_time_ms_mean",
	},
	Read: readSplitwise,
}

// splitwiseBlock is the block in which the cache of a batch is counted. That stack had no blocks and took the memory
// that the batch needed; so many blocks hold all of it.
const splitwiseBlock = 16

func readSplitwise(s *datafile.Source, f *measured.File) error {
	f.Notes = append(f.Notes,
		"the precision is not stated: the checkpoint's own 16 bits are assumed",
		"a batch is a burst of requests whose prompts are prefilled in one step; the stack of 2023 is stood for by the "+
			"scheduler of vLLM")
	return datafile.EachID(f, s.Table, splitwiseRun)
}

// splitwiseRun reads a row. Its quality is C, for no engine that is modelled ran it.
func splitwiseRun(r *datafile.Record) measured.Run {
	prompt, output, batch := r.Count("prompt_size", 1), r.Count("token_size", 1), r.Count("batch_size", 1)
	p := setup.Scenario{TensorParallel: r.Count("tp", 1)}
	run := measured.Run{ID: r.Text("id"), Labels: measured.Labels{
		Source: "splitwise", Engine: measured.EagerStack, Version: "2023", Mode: "agg", Quality: "C",
		Parallel: names.LayoutOf(p.TensorParallel, 1, false), Load: r.Text("prompt_size") + "/" + r.Text("token_size"),
		Concurrency: batch,
	}}
	row := measured.Row{ID: run.ID, Request: -1}
	row.Values = r.Latency(row.Values, measured.Lead(measured.TTFT, measured.Mean, 0), "prompt_time_ms_mean")
	row.Values = r.Latency(row.Values, measured.Lead(measured.TPOT, measured.Mean, 0), "token_time_ms_mean")
	run.Rows = []measured.Row{row}
	gpu, capped := strings.CutSuffix(r.Text("hardware"), "-pcap")
	unknown := deployed(&run.Labels, &p, r.Text("model"), gpu, "")
	if capped {
		run.Labels.GPU += "-pcap"
		unknown = "the power of the GPU is capped, which is not modelled"
	}
	run.Skip = cmp.Or(unknown, tooLong(p.Model, prompt+output))
	if run.Skip != "" {
		return run
	}
	p.Argument("max_num_seqs", batch)
	p.Argument("max_num_batched_tokens", batch*prompt)
	p.Argument("block_size", splitwiseBlock)
	p.Argument("num_gpu_blocks", batch*((prompt+output)/splitwiseBlock+2)+1)
	p.ClosedLoop(batch, batch)
	p.Lengths(prompt, output, 1)
	run.Scenario = p.Text()
	return run
}
