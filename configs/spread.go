package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
)

// Defaults of machines whose chips hold a few hundred megabytes: what a stage of eight has room for.
const (
	lpuSeqs   = 64
	lpuTokens = 512
)

// spreadContext is the tokens of cache that a model is spread with room for: one sequence of 8,192.
const spreadContext = 8192

// spread writes in over how many chips a model is spread whose machine has SRAM alone, where nobody says: the fewest
// that hold it. A model that cannot be read, or that no number of chips holds, is left for the error of who builds it.
func (s *Scenario) spread(i int, gpu *hardware.GPU, engine *catalog.EngineSpec) {
	p, path := &s.Pools[i], fmt.Sprintf("pools[%d].", i)
	for _, key := range []string{"tensor_parallel", "pipeline_parallel", "data_parallel"} {
		if s.origins.given(path+key) || !gpu.Kind.SRAM() || p.GPUs() != 1 {
			return
		}
	}
	r, err := s.Model.Read()
	m := r.Model
	if err == nil && s.Weights != "" {
		m, err = m.WithWeights(s.Weights)
	}
	if err != nil {
		return
	}
	d := hardware.Deployment{GPU: *gpu, Model: m, KVDtype: s.KVCache}
	if d.KVDtype == "" {
		d.KVDtype = "bf16"
	}
	tokens := max(1, p.MaxNumBatchedTokens)
	if split, ok := d.Spread(p.MemoryShare(engine), tokens, p.MaxNumSeqs, p.BlockSize, spreadContext); ok {
		p.TensorParallel, p.PipelineParallel = split.Tensor, split.Pipeline
	}
}
