package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
)

// standIn is the errors on data A of one engine under the scheduler of vLLM, with vLLM's defaults and efficiencies of
// its own fitted to the same values: median and 90th percentile, in sample and deployment left out.
type standIn struct {
	engine, name      string // label, and as people write it
	metric            measured.Metric
	inSample, leftOut string
}

// standIns were found once, by the program of this page with that one change.
func standIns() []standIn {
	return []standIn{
		{"sglang", "SGLang", measured.TTFT, "25.7 / 73.1", "29.7 / 79.4"},
		{"sglang", "SGLang", measured.TPOT, "7.0 / 22.8", "8.1 / 25.8"},
		{"tensorrt-llm", "TensorRT-LLM", measured.TTFT, "33.8 / 92.4", "39.9 / 117"},
		{"tensorrt-llm", "TensorRT-LLM", measured.TPOT, "9.3 / 24.2", "10.0 / 28.6"},
		{"", "all three", measured.TTFT, "21.0 / 69.2", "24.1 / 80.6"},
		{"", "all three", measured.TPOT, "7.3 / 21.6", "8.3 / 24.7"},
	}
}

// engines says what the schedulers of the engines are worth.
func (a *Accuracy) engines(m *markdown) {
	m.heading(2, "Engines")
	m.para("Every row runs under the scheduler of its engine, with the arguments of its launch script and the engine's " +
		"defaults for the rest. Beside it, in percent: the same rows with the scheduler and the defaults of vLLM in place " +
		"of the others', fitted to the same TTFT and TPOT.")
	rows := [][]string{{"engine", "metric", "in sample: as vLLM", "own scheduler", "deployment left out: as vLLM",
		"own scheduler"}}
	for _, s := range standIns() {
		keep := allOf(ofData("A"), leads(s.metric), func(p *validation.Prediction) bool {
			return s.engine == "" ||
				under(s.engine)(p)
		})
		rows = append(rows, []string{
			s.name, validation.MetricName(s.metric.String()), s.inSample, spreadCell(errorsIn(a.predictionsOf(catalog.InSample),
				keep).Errors),
			s.leftOut, spreadCell(errorsIn(a.predictionsOf(catalog.DeploymentOut), keep).Errors),
		})
	}
	m.table(2, rows)
	m.para("Queues show it best. GUARANTEED_NO_EVICT of TensorRT-LLM holds back some of the 128 clients of " +
		"Llama-3.1-70B on one B200, whose measured mean TTFT is 137 s; the cache of two H100 some of its 64 clients under " +
		"vLLM (31 s), that of eight H200 some of the 64 clients of GLM-5 under SGLang (43 s). All three are predicted " +
		"within a sixth. What the schedulers do not explain is below, among what is wrong.")
}

// spreadCell is errors in a table: median / p90.
func spreadCell(e validation.Errors) string {
	if e.N == 0 {
		return "–"
	}
	return errorDigits(e.MedianPct) + " / " + errorDigits(e.P90Pct)
}

// Occupied is how full servers were that had as many clients and requests, as the mean of several runs, and how full
// the simulated one is.
type Occupied struct {
	Clients, Requests, Runs int
	Measured, Simulated     measured.Occupancy
}

// Add takes another run into the mean.
func (o *Occupied) Add(run measured.Occupancy) {
	o.Runs++
	for _, x := range []struct {
		mean *float64
		one  float64
	}{
		{&o.Measured.KVMean, run.KVMean}, {&o.Measured.KVMax, run.KVMax}, {&o.Measured.RunningMax, run.RunningMax},
		{&o.Measured.WaitingMax, run.WaitingMax},
	} {
		*x.mean += (x.one - *x.mean) / float64(o.Runs)
	}
}

// occupied compares how full servers were.
func (a *Accuracy) occupied(m *markdown) {
	if len(a.Occupied) == 0 {
		return
	}
	m.heading(2, "How full servers are")
	m.para("Data A3: gpt-oss-120b on one H200, counters of the server beside the simulation. Neither the number of KV " +
		"blocks nor the share of memory is stated: the cache is what the engine's default leaves beside weights and " +
		"activations, and it is too large. The cache is not full at 64 clients; requests wait for the tokens of a step.")
	rows := [][]string{{"clients", "requests", "runs", "KV cache, mean", "simulated", "KV cache, most", "simulated",
		"running", "simulated", "waiting", "simulated"}}
	list := slices.Clone(a.Occupied)
	slices.SortFunc(list, func(x, y Occupied) int {
		return cmp.Or(cmp.Compare(x.Clients, y.Clients), cmp.Compare(x.Requests, y.Requests))
	})
	for _, o := range list {
		row := []string{fmt.Sprint(o.Clients), fmt.Sprint(o.Requests), fmt.Sprint(o.Runs)}
		for _, pair := range [][2]float64{{o.Measured.KVMean, o.Simulated.KVMean}, {o.Measured.KVMax, o.Simulated.KVMax}} {
			row = append(row, fmt.Sprintf("%.1f %%", 100*pair[0]), fmt.Sprintf("%.1f %%", 100*pair[1]))
		}
		for _, pair := range [][2]float64{{o.Measured.RunningMax, o.Simulated.RunningMax},
			{o.Measured.WaitingMax, o.Simulated.WaitingMax}} {
			row = append(row, fmt.Sprintf("%.0f", pair[0]), fmt.Sprintf("%.0f", pair[1]))
		}
		rows = append(rows, row)
	}
	m.table(0, rows)
}
