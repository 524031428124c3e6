package logs

import (
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// readCollectives reads all-reduces, and dispatches with combines.
func readCollectives(s *datafile.Source, f *measured.File) error {
	return datafile.Each(f, s.Table, collectiveRun)
}

// defaultSMs is how many cores DeepEP's normal kernels take by default; others are tuning.
const defaultSMs = "20"

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
	case strings.HasSuffix(op, "_dispatch"), strings.HasSuffix(op, "_combine"):
		l.Kind, l.Source = "all-to-all", strings.ReplaceAll(op, "_", " ")
		if nodes := r.Text("nodes"); nodes != "1" {
			l.Source += ", several nodes"
		}
		k.Op, k.Rows, k.Hidden = measured.Dispatch, r.Count("tokens", 1), r.Count("hidden", 1)
		if strings.HasSuffix(op, "_combine") {
			k.Op = measured.Combine
		}
		k.Way = "low-latency"
		if strings.HasPrefix(op, "normal_") {
			k.Way = "normal"
		}
		k.TopK, k.Experts = r.Count("topk", 1), r.Count("experts", 1)
		k.Width, k.Dtype = 1, "fp8"
		if sms := r.Text("sms"); sms != "" && sms != defaultSMs {
			run.Skip = "kernels with other than their default of 20 SMs"
		}
	default:
		run.Skip = op + " of NCCL, which no step has by itself"
	}
	return run
}
