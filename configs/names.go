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

// resolveGPUs replaces the names of GPUs as people write them. How many there are is for the search to say.
func (s *Study) resolveGPUs() error {
	for _, of := range []struct {
		path string
		list []string
	}{{"search.gpu", s.Search.GPU}, {"search.prefill_gpu", s.Search.PrefillGPU}} {
		for i, given := range of.list {
			written, count := catalog.CountedGPU(given)
			name, ok := catalog.GPUNamed(written)
			if ok && count > 0 {
				return s.origins.errorf(fmt.Sprintf("%s[%d]", of.path, i), "%q: how many GPUs is for the search to say; expected "+
					"%q, and budget.gpus: %d for no more than so many", given, name, count)
			}
			if ok {
				of.list[i] = name
			}
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
		return s.origins.errorf(path+"gpu", "%q says %d GPUs, but replicas × GPUs of a replica are %d × %d; expected %q, "+
			"or layouts and replicas of as many", counted, count, p.Replicas, p.GPUs(), name)
	}
	return nil
}
