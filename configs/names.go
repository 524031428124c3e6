package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/catalog"
)

// resolveNames replaces names as people write them by those of the catalogs: meta-llama/Llama-3.3-70B-Instruct, H200,
// 8xH100. A repository that names a precision means it, unless the scenario says another. What is in no catalog is left
// as it is, for an error that says so.
func (s *Scenario) resolveNames() error {
	if written := s.Model.Config; !catalog.IsModelPath(written) {
		if name, ok := catalog.ModelNamed(written); ok {
			s.Model.Config = name
			if s.Weights == "" && !s.origins.given("weights") {
				s.Weights = catalog.WeightsOf(name, catalog.PrecisionInName(written))
			}
		}
	}
	resolveModel(&s.Speculation.DraftModel)
	for i := range s.Pools {
		resolveModel(&s.Pools[i].Model)
		if err := s.resolveGPU(i); err != nil {
			return err
		}
	}
	return nil
}

func resolveModel(model *string) {
	if *model == "" || catalog.IsModelPath(*model) {
		return
	}
	if name, ok := catalog.ModelNamed(*model); ok {
		*model = name
	}
}

// resolveGPU finds the accelerator of a pool. A number before its name is how many the pool has: where nobody says how
// a replica is split, one replica shares them all by tensor parallelism.
func (s *Scenario) resolveGPU(i int) error {
	p, path := &s.Pools[i], fmt.Sprintf("pools[%d].", i)
	if catalog.IsGPUPath(p.GPU.From) {
		return nil
	}
	written, count := catalog.CountedGPU(p.GPU.From)
	name, ok := catalog.GPUNamed(written)
	if !ok || name == p.GPU.From {
		return nil
	}
	counted := p.GPU.From
	p.GPU.From = name
	if count == 0 {
		return nil
	}
	given := false
	for _, key := range []string{"tensor_parallel", "pipeline_parallel", "data_parallel"} {
		given = given || s.origins.given(path+key)
	}
	if !given && !s.origins.given(path+"replicas") {
		p.TensorParallel = count
	}
	if !s.origins.given(path+"replicas") && p.GPUs() > 0 && count%p.GPUs() == 0 {
		p.Replicas = count / p.GPUs()
	}
	if p.GPUs()*p.Replicas != count {
		return s.origins.errorf(path+"gpu", "%q says %d GPUs, but %d replicas of %d have %d; expected %q, or layouts and "+
			"replicas of as many", counted, count, p.Replicas, p.GPUs(), p.GPUs()*p.Replicas, name)
	}
	return nil
}
