package page

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// how says what was fitted to what.
func (a *Accuracy) how(m *markdown) {
	k := &a.Method
	m.heading(2, "How it was fitted")
	m.para("**Form.** A step is a sum over its parts (weights, cache, collectives, and times per layer and sequence), " +
		"each part the longer of memory and arithmetic, smoothly; `hardware/roofline.go` has the formula. Peaks are the " +
		"data sheet's; what is fitted is the share of them that software achieves and the times it spends outside kernels, " +
		"which are the constants below. With all shares 1 and all times 0 a step is the textbook bound. A step lasts no " +
		"less than the host takes to launch and to prepare it (`hardware/launch.go`).")
	m.para("**Groups.** An efficiency is the prior, scaled by what all runs have in common, then by what those of " +
		"its engine have, then by what those of its family of GPUs under that engine have (Hopper, Blackwell), " +
		"then its GPU of them, and by what those of its model in its precision have under that engine, on " +
		"whichever GPU and on that family: which kernels an engine has for its shapes; and by what those of its " +
		"release have (minor ones of TensorRT-LLM of which three deployments or more were measured, the nearest older one " +
		"standing for others): what is built in is of the newest, and `efficiency: " +
		"NAME@RELEASE` asks for another; and by what those of its GPU, and those of its model in its precision, have " +
		"under whichever engine of today. The stacks of 2023 share " +
		"nothing with the engines of today: the host decides their steps. A group of few runs stays near the " +
		"group above it; a GPU that was not measured gets what the measured one nearest to it has (a GB200 that " +
		"of a B200), or else its family (an H800), or else its engine, scaled, if it was measured under others, by what " +
		"it differs by there; an engine that was not measured gets that of all.")
	m.para("**Loss.** Pseudo-Huber of ln(predicted / measured), with scale %s for TPOT (E2E and throughput where there "+
		"is no TPOT) and scale %s, weight %s for TTFT, which scheduling and clients decide more than steps do. A "+
		"deployment of n runs weighs √n, for its runs err together. Of a log of steps, which nearly all are decodes of a "+
		"few shapes, the fit sees %d of each kind and deployment, evenly spaced, which together weigh as %d runs do; not "+
		"those faster than the data sheet allows. A published figure weighs %s of a run, for it is one number of a server "+
		"whose limits are not stated. A penalty of the squared logarithm of each scaling, "+
		"over the squared σ of the table, times %s, holds it to one, that of a model %s times as much, and those of what "+
		"the host takes for steps on a GPU or a family of them %s times; for a user's own deployment times %s, with "+
		"scale %s and weight %s for TTFT.",
		text.Short(k.StepScale), text.Short(k.TTFTScale), text.Short(k.TTFTWeight), catalog.StepsPerKind,
		catalog.RunsPerKind, text.Short(catalog.PublishedWeight), text.Short(k.Stiffness),
		text.Short(slices.Max(append([]float64{1}, k.Stiffer...))),
		text.Short(slices.Max(append([]float64{1}, k.HostStiffer...))), text.Short(k.OwnStiffness),
		text.Short(k.OwnTTFTScale), text.Short(k.OwnTTFTWeight))
	m.para("**What was chosen by looking.** The first two stiffnesses, on a coarse grid (factors of about three) of " +
		"errors on deployments left out; a tenth or three tenths of the first change none by more than a point; the " +
		"third by errors on GPUs left out (in a trial TTFT went from 20.6 and 65.2 to 20.5 and 63.9 %%, TPOT from 8.7 and " +
		"25.4 to 8.6 and 24.7 %%, of deployments both stayed). So was the form, " +
		"by the fits to public data that the priors come from; that what experts lose is the moving of activations " +
		"(`moe_copy_bytes`) and not the padding of tiles (`moe_rows`), that a sequence has a part of the host and one of " +
		"the GPU, and the σ of the times of launching, by errors on deployments, GPUs and models left out. So was " +
		"that releases of TensorRT-LLM have constants of their own (of its deployments left out, TPOT from 7.6 to 7.2 %%; " +
		"of separate pools, which are not fitted to, from 12.8 to 9.8 %%) and those of vLLM have not (of its deployments " +
		"left out, TPOT would go from 6.2 to 5.2 %%, but of GPUs from 9.9 to 10.6 %% and of models from 6.8 to 7.3 %%), " +
		"and that TTFT does not weigh twice as much (0.3 points of TTFT for 0.2 of TPOT). So was that published " +
		"throughputs are fitted to, and how much they weigh (errors of deployments left out went from 12.8 to 10.3 %%, " +
		"of TTFT on GPUs and models left out by 1.5 points, and TPOT on them rose by half a point), and that a GB200 is a " +
		"B200 in the fit (of separate pools TPOT would go from 9.6 to 11.3 %%). " +
		"So was that a GPU and a model have scalings of their own under all engines together (in trials, of deployments " +
		"left out, TTFT went from 15.7 to 14.7 %%; of GPUs, TPOT from 9.8 to 8.9 and TTFT from 24.7 to 23.8 %%; of " +
		"models, from 9.6 to 8.9 and from 24.2 to 22.6 %%; of GPUs that were left out of one engine alone, TPOT from 9.5 " +
		"to 7.9 %%, and of such models from 9.6 to 8.8 %%; of deployments under vLLM it rose from 5.2 to 5.9 %%), and " +
		"that a family of GPUs has none. Exclusions were listed before residuals were looked at.")
	m.para("**Minimum.** Each run is simulated and its batches are kept; prices under other constants need no new "+
		"simulation. Newton's method finds the minimum; the runs are simulated again under it, %d rounds "+
		"in all. A fit without a deployment, GPU or model is taken from the slopes of the residuals at the whole fit, "+
		"weights of the left-out runs set to zero; the predictions on this page are then new simulations under it.", k.Rounds)
	rows := [][]string{{"constant", "prior", "σ of its logarithm", "least", "most"}}
	for i := range k.Parameters {
		p := &k.Parameters[i]
		rows = append(rows, []string{
			"`" + p.Name + "`", calibration.ConstantText(p.Name, k.PriorValue(p)), text.Short(p.Sigma),
			calibration.ConstantText(p.Name, p.Low), calibration.ConstantText(p.Name, p.High),
		})
	}
	m.table(1, rows)
	m.para("The fitted constants are in `configs/catalog/engines/efficiencies/`, each entry with the runs, deployments "+
		"and error of its fit. The overlap of memory and arithmetic is not fitted: such data cannot tell it (p = %s).",
		text.Short(k.Prior.Overlap))
}

// origins say what each data set is.
func origins() [][2]string {
	return [][2]string{
		{"A", "closed loops: SemiAnalysis InferenceX and NVIDIA's own runs, as ai-dynamo/aiconfigurator ships them " +
			"(`silicon_sample.csv`, 095f58a5)"},
		{"A3", "closed loops of gpt-oss-120b on one H200 with all statistics: GloriaXimingLu/inferencex-profiling, 237385b"},
		{"B", "open loops of vLLM on H100: inference-sim/training, ed5c1d2"},
		{"C", "open loops of vLLM on H100, A100 and L40S: inference-sim/sim-to-real-accuracy-validation, dcec3fd"},
		{"D", "traces with the times of every request on RTX GPUs: casys-kaist/LLMServingSim, 5daddb2"},
		{"E", "closed loops over a grid of prompt lengths, medians: SemiAnalysisAI/InferenceX, 843c6254"},
		{"F", "single prompt and token steps on A100 and H100: Mutinifni/splitwise-sim, 8f99e7d"},
		{"G", "published figures: TensorRT-LLM, MLPerf, AMD, AWS, Azure, LMSYS, vLLM and others, a source a row"},
		{"H", "steps of vLLM, kernels, collectives and servers: ai-dynamo/aiconfigurator (095f58a5 and 645aa4208), " +
			"aisimulate, dynamo, llm-d-benchmark"},
	}
}

// dataSets says how much of each was used.
func (a *Accuracy) dataSets(m *markdown) {
	m.heading(2, "The data")
	rows := [][]string{{"data", "what and whence", "runs fitted to", "deployments", "runs not fitted to"}}
	for _, o := range origins() {
		runs := map[string]bool{}
		deployments := map[string]bool{}
		for _, p := range a.predictionsOf(catalog.InSample) {
			if DataSet(&p.Run.Labels) == o[0] {
				runs[p.Run.ID], deployments[p.Run.Labels.Deployment()] = true, true
			}
		}
		rows = append(rows, []string{o[0], o[1], fmt.Sprint(len(runs)), fmt.Sprint(len(deployments)),
			fmt.Sprint(a.excludedRuns(o[0]))})
	}
	m.table(2, rows)
}

func (a *Accuracy) excludedRuns(set string) int {
	n := 0
	for _, x := range a.Excluded {
		if x.Data == set {
			n += x.Runs
		}
	}
	if n == 0 { // of a file that nothing was fitted to
		runs := map[string]bool{}
		for i := range a.Unfitted {
			if p := &a.Unfitted[i]; DataSet(&p.Run.Labels) == set {
				runs[p.Run.ID] = true
			}
		}
		n = len(runs)
	}
	return n
}

// exclusions lists what was not fitted to.
func (a *Accuracy) exclusions(m *markdown) {
	m.heading(2, "Runs and values left out")
	m.para("By reason, decided from the labels before any run was predicted:")
	rows := [][]string{{"data", "reason", "runs"}}
	for _, x := range a.Excluded {
		rows = append(rows, []string{x.Data, x.Reason, fmt.Sprint(x.Runs)})
	}
	m.table(2, rows)
	rows = [][]string{{"data", "reason", "values"}}
	for _, x := range a.skippedValues() {
		rows = append(rows, []string{x.Data, x.Reason, fmt.Sprint(x.Runs)})
	}
	if len(rows) > 1 {
		m.para("Of the runs that were fitted to, these values are not compared:")
		m.table(2, rows)
	}
}

// skippedValues counts values of fitted runs that are not compared.
func (a *Accuracy) skippedValues() []Excluded {
	var out []Excluded
	predictions := a.predictionsOf(catalog.InSample)
	for i := range predictions {
		p := &predictions[i]
		if p.Skip == "" {
			continue
		}
		out = addExcluded(out, DataSet(&p.Run.Labels), reasonOf(p))
	}
	return out
}

func reasonOf(p *validation.Prediction) string {
	return validation.MetricName(p.Value.Name) + ": " + p.Skip
}

func addExcluded(all []Excluded, set, reason string) []Excluded {
	for i := range all {
		if all[i].Data == set && all[i].Reason == reason {
			all[i].Runs++
			return all
		}
	}
	return append(all, Excluded{set, reason, 1})
}

// caveats are what was assumed where the data are silent.
func caveats(m *markdown) {
	m.heading(2, "What was assumed")
	m.items(
		"TensorRT-LLM can have prompts wait for others for some steps (batch_wait_timeout_iters). The script of "+
			"Llama-3.1-70B says 20, but not for which loads: 24 rows of 1024/1024 tokens on fewer than eight GPUs have a "+
			"TTFT of some 15 decode steps more than its others, and they alone are taken to wait. That reads it off "+
			"latencies, so that their errors are a little too good.",
		"The SGLang rows of A that come from NVIDIA's own runs do not state their arguments either, and say that lengths "+
			"are fixed. Those of the release in Dynamo's runtime 0.8, all of Llama-3.1-8B, are taken to have prompts as "+
			"uneven as InferenceX's and outputs between half and one and a half times the stated length (unverified): in "+
			"waves of one length their TTFT would be several times as long as measured. That is read off latencies too. The "+
			"TTFT of the others is that of waves.",
		"SGLang's scripts for Blackwell that choose TensorRT-LLM's attention kernels, of DeepSeek-R1 and Qwen3.5, are taken "+
			"to have the scheduler look for requests every 30 steps of decodes, and every 10 below 16 clients "+
			"(scheduler_recv_interval; from memory: unverified). Their TTFT jumps by some ten steps between 8 and 16 clients, "+
			"and that of no other script does.",
		"The vLLM rows of A that come from NVIDIA's own runs do not state the token budget of a step. It is taken as 2048, "+
			"which their mean TPOT and TTFT of one deployment fit at every load; 8192, the default of a server, they "+
			"contradict. That reads a setting off latencies, so the errors on these rows are a little too good. Nor do they "+
			"state how tokens are chosen: as the checkpoint asks, for NVIDIA's tools say nothing of it (unverified).",
		"Checkpoints that NVIDIA quantised ask for an fp8 cache, and engines do as they ask, but for vLLM before 0.12 on "+
			"H100; everything else has a cache of 16 bits unless its launch script says fp8. Servers that queue for want of "+
			"cache agree.",
		"Releases: rows of A from November and December 2025 that do not name that of their engine are taken to have the "+
			"one that October's name (TensorRT-LLM 1.1, vLLM 0.10), and so is an image called gpt-oss-dev. Images of Dynamo "+
			"name Dynamo's: that 0.8 has TensorRT-LLM 1.2 other rows say, that 0.7 has it and 0.5 has 1.1 is from memory "+
			"(unverified).",
		"An A100 of unstated memory is taken for the one with 80 GB.",
		"Prompts of C repeat as the tool's groups do, with prefix caching on; prompt lengths are nominal where they were "+
			"not counted. Its requests do not say how tokens are chosen (inference-perf 0.4.0), so that vLLM does as the "+
			"generation_config.json of a checkpoint says: that those of Llama and of the tuned Qwen ask for a top-p, and no "+
			"others do, is from memory (unverified).",
		"All runs of D are among the data fitted to; \"GPU left out\" is their honest error.",
		"TensorRT-LLM runs prompts whole. Where max_num_tokens is not stated, or by a variable of the script, a step is "+
			"taken to hold one prompt beside a token of every other client: the least that keeps prompts from waiting for a "+
			"batch to end. The default of a server, 8192, is less than prompts of that length need; for shorter ones in "+
			"NVIDIA's own runs it is contradicted as vLLM's is.",
		"A mem_fraction_static of SGLang that a script sets to an unknown variable is taken as 0.95, without which some of "+
			"the servers would not hold their model and their clients. Their chunks, where unknown, are the default for the "+
			"GPU.",
	)
}
