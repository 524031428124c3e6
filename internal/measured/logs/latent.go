package logs

import (
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// attentionS is what an attention kernel takes with hardly anything to do: 10.5 to 12.6 µs with one sequence of 128 to
// 256 tokens (SGLang 0.5.14 on H200, B200, B300 and GB300, NVIDIA aiconfigurator, commit 095f58a5).
const attentionS = 11e-6

// readLatent reads modules of latent attention, of the shape of DeepSeek-V3.
func readLatent(s *datafile.Source, f *measured.File) error {
	return datafile.Each(f, s.Table, func(r *datafile.Record) measured.Run {
		op := r.Text("op")
		run := one(rowID(r), "latent attention, decode", "latent attention", microseconds(r, "module_time"))
		l := &run.Labels
		l.Own, l.Engine = r.Text("deployment_id"), engineOf(r)
		l.Quality, l.Precision = "A", r.Text("gemm_dtype")
		k := &measured.Kernel{Op: measured.Latent, Engine: l.Engine, GPUs: 1, Dtype: dtypeOf(r.Text("gemm_dtype")),
			Heads: r.Count("heads", 1), // of a GPU: 16 where tp is 4, and the model has 128
			Rows:  r.Count("batch", 1), Hidden: 7168}
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
		if !strings.HasSuffix(op, "_module") {
			k.AttentionOnly, k.LaunchS = true, attentionS
			l.Source = strings.Replace(l.Source, "latent attention", "latent attention without projections", 1)
		}
		run.Priced = &measured.Priced{Kernel: k}
		return run
	})
}
