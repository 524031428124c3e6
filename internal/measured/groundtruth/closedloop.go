package groundtruth

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// Tables of closed loops share columns and rules: what a row was run on, how it spells its lengths and statistics, and
// which rows are beyond what is modelled.

// deployed fills in what a row was run on, from names as the data spell them. The answer is why it is not simulated;
// empty: it is.
func deployed(l *measured.Labels, p *setup.Scenario, model, gpu, precision string) string {
	var noModel, noGPU, noWeights string
	p.Model, noModel = names.CatalogModel(model)
	p.GPU, noGPU = names.CatalogGPU(gpu)
	p.Weights = catalog.WeightsOf(p.Model, precision)
	p.Engine = l.Engine
	l.Model, l.GPU, l.Precision = p.Model, p.GPU, catalog.PrecisionOf(p.Model, precision)
	if noModel != "" {
		l.Model = model
	}
	if noGPU != "" {
		l.GPU = gpu
	}
	if l.Class == "" {
		l.Class = names.ClassOf(p.Model)
	}
	if p.Weights != "" && !slices.Contains(llm.Dtypes(), p.Weights) {
		noWeights = "weights in " + precision + " are not modelled"
	}
	return cmp.Or(noModel, noGPU, noWeights)
}

// tooLong says why requests of so many tokens are not simulated.
func tooLong(model string, tokens int) string {
	if m, ok := names.Models()[model]; ok && m.ContextMax > 0 && tokens > m.ContextMax {
		return "prompt and output are longer than the context of the model"
	}
	return ""
}

// speculative says why a row that drafts tokens is not simulated, if the table does not say how many were accepted.
func speculative(method string) string {
	return speculativeWith(method, "whose accepted lengths are not stated")
}

// speculativeWith is speculative for tables in which something else is amiss.
func speculativeWith(method, amiss string) string {
	switch strings.ToLower(method) {
	case "", "none":
		return ""
	case "unknown":
		return "unknown whether it speculates"
	}
	return "speculative decoding (" + method + "), " + amiss
}

// engineUnknown says why a row of an engine is not simulated.
func engineUnknown(engine string) string {
	switch {
	case slices.Contains(names.EnginesModelled, engine):
		return ""
	case engine == "":
		return "the engine is not stated"
	}
	return "engine " + engine + " is not modelled"
}

func skipTTFT(values []measured.Value, why string) {
	for i := range values {
		if values[i].Metric == measured.TTFT {
			values[i].Skip = why
		}
	}
}

// lengthShare returns the shortest length as a share of the nominal one: "uniform_0.8" draws from 0.8 n to n.
func lengthShare(r *datafile.Record, column string) float64 {
	text := r.Text(column)
	if text == "" || strings.HasPrefix(text, "fixed") {
		return 1
	}
	least, ok := strings.CutPrefix(text, "uniform_")
	if !ok {
		r.MarkUnstated(fmt.Sprintf("lengths %q, which are not modelled", text))
		return 1
	}
	share, err := strconv.ParseFloat(least, 64)
	if err != nil || !(share > 0 && share <= 1) {
		r.Fail(column, `"fixed", or "uniform_" and a share in (0, 1]`)
		return 1
	}
	return share
}

// statColumns are the statistics as columns spell them: ttft_median_ms.
var statColumns = [measured.NumStats]string{"mean", "median", "p90", "p95", "p99", "max"}

// stats adds every statistic that the table has of these metrics; lead is the one that the data lead with.
func stats(r *datafile.Record, values []measured.Value, lead measured.Stat,
	metrics ...measured.Metric) []measured.Value {
	for _, m := range metrics {
		for stat, name := range statColumns {
			v := measured.Other(m, measured.Stat(stat), 0)
			if measured.Stat(stat) == lead {
				v = measured.Lead(m, lead, 0)
			}
			values = r.Latency(values, v, fmt.Sprintf("%s_%s_ms", m, name))
		}
	}
	return values
}

// rates adds the throughputs.
func rates(r *datafile.Record, values []measured.Value) []measured.Value {
	const want = "a rate per second above 0"
	values = r.Reported(values, measured.Lead(measured.OutputPerS, measured.Mean, 0), "output_throughput", want)
	return r.Reported(values, measured.Lead(measured.RequestsPerS, measured.Mean, 0), "request_throughput", want)
}
