package logs

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// readCollectives reads all-reduces with their halves, and dispatches with combines.
func readCollectives(s *datafile.Source, f *measured.File) error {
	return datafile.Each(f, s.Table, collectiveRun)
}

// halvesLaunchS is what a half of an all-reduce takes beyond half of its time: both are launched once, which takes an
// all-reduce of NCCL 7.5 µs (medians of these tables over 2, 4 and 8 GPUs at 512 B: all_gather and reduce_scatter take
// 0.86, 0.74 and 0.65 of an all-reduce).
const halvesLaunchS = 7.5e-6 / 2

func collectiveRun(r *datafile.Record) measured.Run {
	op, impl := r.Text("op"), r.Text("impl")
	run := one(rowID(r), "", op, microseconds(r, "collective_time"))
	l := &run.Labels
	l.Own, l.Engine, l.Quality = r.Text("deployment_id"), engineOf(r), "A"
	k := &measured.Kernel{Engine: l.Engine, GPUs: r.Count("gpus", 2)}
	k.GPU, run.Skip = names.CatalogGPU(r.Text("gpu"))
	l.GPU, run.Priced = k.GPU, &measured.Priced{Kernel: k}
	switch {
	case run.Skip != "":
	case op == "all_reduce":
		l.Kind, l.Source = "all-reduce", "all-reduce, in a graph"
		if impl == "NCCL" {
			l.Source, k.NCCL = "all-reduce, NCCL", true
		}
		k.Op, k.Bytes = measured.AllReduce, float64(r.Count("bytes", 1))
		if strings.HasSuffix(impl, "_eager") { // contains launching
			run.Skip = "an all-reduce outside a graph, with the time of its launch"
		}
	case op == "all_gather", op == "reduce_scatter": // one after the other are an all-reduce
		l.Kind, l.Source = strings.ReplaceAll(op, "_", "-"), "half of an all-reduce, NCCL"
		k.Op, k.Bytes, k.NCCL = measured.AllReduce, float64(r.Count("bytes", 1)), true
		k.Part, k.LaunchS = 0.5, halvesLaunchS
	case strings.HasSuffix(op, "_dispatch"), strings.HasSuffix(op, "_combine"):
		l.Kind, l.Source = "all-to-all", strings.ReplaceAll(op, "_", " ")
		if nodes := r.Text("nodes"); nodes != "1" {
			l.Source += ", several nodes"
		}
		k.Op, k.Rows, k.Hidden = measured.Dispatch, r.Count("tokens", 1), r.Count("hidden", 1)
		if strings.HasSuffix(op, "_combine") {
			k.Op = measured.Combine
		}
		k.TopK, k.Experts = r.Count("topk", 1), r.Count("experts", 1)
		k.Width, k.Dtype = 1, "fp8"
		switch {
		case l.Engine == "tensorrt-llm": // over the NVLink of a rack
			k.Way, k.Dtype = "one-sided", "bf16"
		case strings.HasPrefix(op, "normal_"):
			k.Way = "normal"
		default:
			k.Way = "low-latency"
		}
		if sent := dtypeOf(r.Text("dtype")); k.Op == measured.Dispatch && slices.Contains(llm.Dtypes(), sent) {
			k.Dtype = sent
		}
		if sms, ok := r.Optional("sms"); ok && sms > 0 {
			k.SMs = int(sms)
		}
	case l.Engine == "nccl":
		run.Skip = op + " of NCCL, which no engine sends tokens to experts by"
	default:
		run.Skip = op + " of " + l.Engine + " is not predicted"
	}
	return run
}
