package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/decodesim/decodesim/hardware"
)

// EngineSpec is a serving engine: the scheduler that stands for it, what it takes for arguments left out, and what it is
// assumed to achieve of a GPU.
type EngineSpec struct {
	Name       string              `yaml:"name"`
	Scheduler  string              `yaml:"scheduler"` // its name in policies
	Describes  string              `yaml:"describes"` // which version of which engine
	Source     string              `yaml:"source"`
	Arguments  EngineArguments     `yaml:"arguments"`
	Limits     []EngineLimit       `yaml:"limits"` // the first row that fits a GPU; the last fits all
	Efficiency hardware.Efficiency `yaml:"efficiency"`
}

// EngineArguments are the engine's defaults that are the same on every GPU.
type EngineArguments struct {
	BlockSize                 int     `yaml:"block_size"` // tokens
	GPUMemoryUtilization      float64 `yaml:"gpu_memory_utilization"`
	LongPrefillTokenThreshold int     `yaml:"long_prefill_token_threshold"` // tokens of one prompt per step; 0: no limit
	SchedulerReserveFullISL   bool    `yaml:"scheduler_reserve_full_isl"`
	EnablePrefixCaching       bool    `yaml:"enable_prefix_caching"`
}

// EngineLimit is the engine's default batch limit on some GPUs.
type EngineLimit struct {
	MemoryBytesMin      float64 `yaml:"memory_bytes_min"`
	Except              string  `yaml:"except"` // not for GPUs whose name starts so; empty: for all
	MaxNumSeqs          int     `yaml:"max_num_seqs"`
	MaxNumBatchedTokens int     `yaml:"max_num_batched_tokens"`
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
	return validateEfficiency(&e.Efficiency)
}

// LoadEfficiency reads an efficiency file: the keys of hardware.Efficiency, all of them.
func LoadEfficiency(file string) (hardware.Efficiency, error) {
	data, err := readFile("efficiency", file)
	if err != nil {
		return hardware.Efficiency{}, err
	}
	var e hardware.Efficiency
	where, err := decodePositions(file, data, &e)
	if err != nil {
		return e, err
	}
	for _, f := range keysOf(fieldsOf(reflect.TypeOf(e))) {
		if _, ok := where.at[f]; !ok {
			return e, where.errorf(f, "missing; an efficiency file states every constant")
		}
	}
	var wrong *rangeError
	if err := validateEfficiency(&e); errors.As(err, &wrong) {
		return e, where.errorf(wrong.key, "%s", wrong.message)
	} else if err != nil {
		return e, err
	}
	return e, nil
}

// rangeError says that the value of a key is out of range.
type rangeError struct{ key, message string }

func (e *rangeError) Error() string { return e.key + ": " + e.message }

// validateEfficiency checks that shares are in (0, 1], times are ≥ 0 and the overlap is ≥ 1.
func validateEfficiency(e *hardware.Efficiency) error {
	for _, share := range []struct {
		key   string
		value float64
	}{
		{"bandwidth", e.Bandwidth}, {"compute", e.Compute}, {"moe_compute", e.MoECompute},
		{"kv_bandwidth", e.KVBandwidth}, {"attention_compute", e.AttentionCompute}, {"link", e.Link},
	} {
		if !(share.value > 0 && share.value <= 1) {
			return &rangeError{share.key, fmt.Sprintf("%g is out of range; expected a share in (0, 1]", share.value)}
		}
	}
	for _, span := range []struct {
		key   string
		value float64
	}{
		{"layer_s", e.LayerS}, {"moe_layer_s", e.MoELayerS}, {"mixer_layer_s", e.MixerLayerS}, {"step_s", e.StepS},
		{"sequence_s", e.SequenceS}, {"collective_s", e.CollectiveS}, {"first_token_s", e.FirstTokenS},
	} {
		if !(span.value >= 0 && span.value <= 3600) {
			return &rangeError{span.key, fmt.Sprintf("%g is out of range; expected seconds in [0, 3600]", span.value)}
		}
	}
	if !(e.Overlap >= 1) {
		return &rangeError{"overlap", fmt.Sprintf("%g is out of range; expected ≥ 1, or .inf", e.Overlap)}
	}
	if e.Source == "" {
		return &rangeError{"source", "missing; expected where the numbers come from"}
	}
	return nil
}
