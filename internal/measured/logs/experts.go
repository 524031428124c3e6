package logs

import (
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// readExperts reads the products of the routed experts of a layer on one GPU.
func readExperts(s *datafile.Source, f *measured.File) error {
	return datafile.Each(f, s.Table, func(r *datafile.Record) measured.Run {
		source := "experts, even routing"
		if r.Text("routing") != "bal" {
			source = "experts, power-law routing"
		}
		run := one(rowID(r), source, "expert products", microseconds(r, "experts_time"))
		l := &run.Labels
		l.Own, l.Engine = r.Text("deployment_id"), engineOf(r)
		l.Quality, l.Precision = "A", r.Text("moe_dtype")
		k := &measured.Kernel{Op: measured.Experts, Engine: l.Engine, GPUs: 1, Dtype: dtypeOf(r.Text("moe_dtype")),
			Rows: r.Count("num_tokens", 1), Width: r.Count("inter", 1) / max(1, r.Count("moe_tp", 1)),
			Hidden: r.Count("hidden", 1), TopK: r.Count("topk", 1), Experts: r.Count("experts", 1)}
		k.GPU, run.Skip = names.CatalogGPU(r.Text("gpu"))
		l.GPU = k.GPU
		ranks := r.Count("moe_ep", 1)
		switch {
		case run.Skip != "":
		case r.Text("flag") == "s": // the routing cannot have been what the label says
			run.Skip = "faster than the bytes of the weights allow"
		case ranks > 1 && l.Engine != "tensorrt-llm": // the tables scale by much less than the GPUs
			run.Skip = "experts over several GPUs, where the tokens of one are not known"
		case ranks > 1:
			l.Source += ", one of several ranks"
			ofRank(k, ranks)
		}
		run.Priced = &measured.Priced{Kernel: k}
		return run
	})
}

// ofRank leaves a kernel the experts of one of several ranks, and the tokens that choose them: each of its rows is one
// choice.
func ofRank(k *measured.Kernel, ranks int) {
	k.Rows = max(1, (k.Rows*k.TopK+ranks/2)/ranks)
	k.Experts, k.TopK = max(1, k.Experts/ranks), 1
}

func engineOf(r *datafile.Record) string { return names.EngineOf(r.Text("engine")) }

// dtypeOf returns what weights are stored in, of a name of weights and activations.
func dtypeOf(kernel string) string {
	switch kernel {
	case "bfloat16", "half":
		return "bf16"
	case "fp8_block":
		return "fp8"
	case "w4a16_mxfp4", "w4a8_mxfp4_mxfp8":
		return "mxfp4"
	case "int4_wo":
		return "int4"
	}
	return kernel
}
