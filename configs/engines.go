package configs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/hardware"
)

// EngineSpec is a serving engine: the scheduler that stands for it, what it takes for arguments left out, and what it is
// assumed to achieve of a GPU.
type EngineSpec struct {
	Name       string          `yaml:"name"`
	Scheduler  string          `yaml:"scheduler"` // its name in policies
	Describes  string          `yaml:"describes"` // which version of which engine
	Source     string          `yaml:"source"`
	Arguments  EngineArguments `yaml:"arguments"`
	Limits     []EngineLimit   `yaml:"limits"`      // the first row that fits a GPU; the last fits all
	CUDAGraphs CUDAGraphs      `yaml:"cuda_graphs"` // absent: no step is padded
	Efficiency string          `yaml:"efficiency"`  // name of the efficiencies that price its steps
}

// EngineArguments are the engine's defaults that are the same on every GPU.
type EngineArguments struct {
	BlockSize                 int     `yaml:"block_size"` // tokens
	GPUMemoryUtilization      float64 `yaml:"gpu_memory_utilization"`
	LongPrefillTokenThreshold int     `yaml:"long_prefill_token_threshold"` // tokens of one prompt per step; 0: no limit
	SchedulerReserveFullISL   bool    `yaml:"scheduler_reserve_full_isl"`
	EnablePrefixCaching       bool    `yaml:"enable_prefix_caching"`
	Attention                 string  `yaml:"attention"` // flash or materialized
	EnforceEager              bool    `yaml:"enforce_eager"`
	AsyncScheduling           bool    `yaml:"async_scheduling"` // see sim.Pool.Ahead and hardware.Launch.Async
}

// EngineLimit is the engine's default batch limit on some GPUs.
type EngineLimit struct {
	MemoryBytesMin      float64 `yaml:"memory_bytes_min"`
	Except              string  `yaml:"except"` // not for GPUs whose name starts so; empty: for all
	MaxNumSeqs          int     `yaml:"max_num_seqs"`
	MaxNumBatchedTokens int     `yaml:"max_num_batched_tokens"`
}

// CUDAGraphs says how large the CUDA graphs are that an engine captures: up to RowsPerSequence times max_num_seqs, but
// not above RowsMax. The zero value is none.
type CUDAGraphs struct {
	RowsPerSequence int            `yaml:"rows_per_sequence"`
	RowsMax         []CUDAGraphMax `yaml:"rows_max"` // the first row that fits a GPU; the last fits all
}

// CUDAGraphMax is the limit on GPUs whose name starts so; empty: on all.
type CUDAGraphMax struct {
	GPU  string `yaml:"gpu"`
	Rows int    `yaml:"rows"`
}

// Sizes returns the rows that are captured for so many sequences on a GPU; nil: none.
func (c *CUDAGraphs) Sizes(gpu string, sequences int) []int {
	for _, l := range c.RowsMax {
		if strings.HasPrefix(gpu, l.GPU) {
			return hardware.CaptureSizes(min(c.RowsPerSequence*sequences, l.Rows))
		}
	}
	return nil
}

func (c *CUDAGraphs) validate() error {
	n := len(c.RowsMax)
	if n == 0 && c.RowsPerSequence == 0 {
		return nil
	}
	if n == 0 || c.RowsMax[n-1].GPU != "" || c.RowsPerSequence < 1 {
		return errors.New("cuda_graphs: expected rows_per_sequence ≥ 1 and a last row of rows_max that fits every GPU: without gpu")
	}
	for i, l := range c.RowsMax {
		if l.Rows < 1 || l.Rows > 1<<16 {
			return fmt.Errorf("cuda_graphs.rows_max[%d].rows: %d is out of range; expected 1 to %d", i, l.Rows, 1<<16)
		}
	}
	return nil
}

// EngineNames returns the engines built in.
func EngineNames() []string { return embeddedNames("engines") }

// Engine returns the engine of that name.
func Engine(name string) (EngineSpec, error) {
	file, data, ok := embedded("engines", name)
	if !ok {
		return EngineSpec{}, notFound("engine", name, EngineNames())
	}
	var e EngineSpec
	if err := decodeStrict(file, data, &e); err != nil {
		return EngineSpec{}, err
	}
	if err := e.validate(name); err != nil {
		return EngineSpec{}, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// Limit returns the engine's default batch limits on a GPU.
func (e *EngineSpec) Limit(gpu string, memoryBytes float64) EngineLimit {
	for _, l := range e.Limits {
		if memoryBytes >= l.MemoryBytesMin && (l.Except == "" || !strings.HasPrefix(gpu, l.Except)) {
			return l
		}
	}
	panic("configs: engine " + e.Name + " has no limit for " + gpu)
}

func (e *EngineSpec) validate(name string) error {
	if e.Name != name {
		return fmt.Errorf("name: %q; expected the name of the file, %q", e.Name, name)
	}
	if e.Scheduler == "" || e.Describes == "" || e.Source == "" {
		return errors.New("scheduler, describes and source are required")
	}
	a := e.Arguments
	if a.BlockSize < 1 || !(a.GPUMemoryUtilization > 0 && a.GPUMemoryUtilization <= 1) || a.LongPrefillTokenThreshold < 0 {
		return fmt.Errorf("arguments: %+v; expected block_size ≥ 1, gpu_memory_utilization in (0, 1], "+
			"long_prefill_token_threshold ≥ 0", a)
	}
	if n := len(e.Limits); n == 0 || e.Limits[n-1].MemoryBytesMin != 0 || e.Limits[n-1].Except != "" {
		return errors.New("limits: the last row must fit every GPU: memory_bytes_min: 0, without except")
	}
	for i, l := range e.Limits {
		if l.MaxNumSeqs < 1 || l.MaxNumBatchedTokens < l.MaxNumSeqs {
			return fmt.Errorf("limits[%d]: max_num_seqs %d, max_num_batched_tokens %d; expected 1 ≤ max_num_seqs ≤ "+
				"max_num_batched_tokens", i, l.MaxNumSeqs, l.MaxNumBatchedTokens)
		}
	}
	if a.Attention != "flash" && a.Attention != "materialized" {
		return fmt.Errorf("arguments.attention: %q is unknown; have \"flash\", \"materialized\"", a.Attention)
	}
	if err := e.CUDAGraphs.validate(); err != nil {
		return err
	}
	if !slices.Contains(EfficiencyNames(), e.Efficiency) {
		return fmt.Errorf("efficiency: %w", notFound("efficiency", e.Efficiency, EfficiencyNames()))
	}
	return nil
}
