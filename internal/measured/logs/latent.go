package logs

import (
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// readLatent reads modules of latent attention, of the shape of DeepSeek-V3.
func readLatent(s *datafile.Source, f *measured.File) error {
	return datafile.Each(f, s.Table, func(r *datafile.Record) measured.Run {
		op := r.Text("op")
		run := one(rowID(r), "latent attention, decode", "latent attention", microseconds(r, "module_time"))
		l := &run.Labels
		l.Own, l.Engine = r.Text("deployment_id"), engineOf(r)
		l.Quality, l.Precision = "A", r.Text("gemm_dtype")
		k := &measured.Kernel{Op: measured.Latent, Engine: l.Engine, GPUs: 1, Dtype: dtypeOf(r.Text("gemm_dtype")),
			Heads: r.Count("heads", 1) / max(1, r.Count("tp", 1)), Rows: r.Count("batch", 1), Hidden: 7168}
		k.KVDtype = dtypeOf(r.Text("kv_dtype"))
		k.Context = r.Count("isl", 1)
		if past, ok := r.Optional("past"); ok {
			k.Context += int(past)
		}
		if strings.Contains(op, "context") {
			l.Source = "latent attention, prefill"
			k.Chunk = r.Count("isl", 1)
		}
		k.GPU, run.Skip = names.CatalogGPU(r.Text("gpu"))
		l.GPU = k.GPU
		if run.Skip == "" && !strings.HasSuffix(op, "_module") {
			run.Skip = "the attention kernel without its projections"
		}
		run.Priced = &measured.Priced{Kernel: k}
		return run
	})
}
