package measured

import (
	"cmp"
	"strings"
)

// splitwise is a table of single steps, one shape of batch a row: a batch of equal prompts was sent to an idle server at
// once, prompt_time is the step that prefilled all of them and token_time the mean decode step of that batch. The stack
// is one of 2023 that launches every kernel by itself, so its efficiencies are no other engine's.
var splitwise = schema{
	name:  "prompt and token steps",
	about: "prompt and token steps (CSV with id, model, hardware, tp, prompt_size, batch_size, token_size, prompt_time_ms_mean, token_time_ms_mean)",
	columns: []string{
		"id", "model", "hardware", "tp", "prompt_size", "batch_size", "token_size", "prompt_time_ms_mean",
		"token_time_ms_mean",
	},
	read: readSplitwise,
}

// EagerStack is the engine of the rows: stacks from before CUDA graphs.
const EagerStack = "eager-2023"

// splitwiseBlock is the block in which the cache of a batch is counted. That stack had no blocks and took the memory that
// the batch needed; so many blocks hold all of it.
const splitwiseBlock = 16

func readSplitwise(s *source, f *File) error {
	f.Notes = append(f.Notes,
		"the precision is not stated: the checkpoint's own 16 bits are assumed",
		"a batch is a burst of requests whose prompts are prefilled in one step; the stack of 2023 is stood for by the scheduler of vLLM")
	return f.eachID(s.table, splitwiseRun)
}

// splitwiseRun reads a row. Its quality is C, for no engine that is modelled ran it.
func splitwiseRun(r *record) Run {
	prompt, output, batch := r.count("prompt_size", 1), r.count("token_size", 1), r.count("batch_size", 1)
	p := setup{tensor: r.count("tp", 1)}
	run := Run{ID: r.text("id"), Labels: Labels{
		Source: "splitwise", Engine: EagerStack, Version: "2023", Mode: "agg", Quality: "C",
		Parallel: layoutOf(p.tensor, 1, false), Load: r.text("prompt_size") + "/" + r.text("token_size"), Concurrency: batch,
	}}
	row := Row{ID: run.ID, Request: -1}
	row.Values = r.latency(row.Values, Lead(TTFT, Mean, 0), "prompt_time_ms_mean")
	row.Values = r.latency(row.Values, Lead(TPOT, Mean, 0), "token_time_ms_mean")
	run.Rows = []Row{row}
	gpu, capped := strings.CutSuffix(r.text("hardware"), "-pcap")
	unknown := deployed(&run.Labels, &p, r.text("model"), gpu, "")
	if capped {
		run.Labels.GPU += "-pcap"
		unknown = "the power of the GPU is capped, which is not modelled"
	}
	if run.Skip = cmp.Or(unknown, tooLong(p.model, prompt+output)); run.Skip != "" {
		return run
	}
	p.arg("max_num_seqs", batch)
	p.arg("max_num_batched_tokens", batch*prompt)
	p.arg("block_size", splitwiseBlock)
	p.arg("num_gpu_blocks", batch*((prompt+output)/splitwiseBlock+2)+1)
	p.closed(batch, batch)
	p.lengths(prompt, output, 1)
	run.Scenario = p.text()
	return run
}
