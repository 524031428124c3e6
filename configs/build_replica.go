package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/huggingface"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// Replica is one replica of a scenario: the model on its GPUs, what its memory holds and what its steps cost. It is all
// that does not depend on the load.
type Replica struct {
	Deployment  hardware.Deployment
	Memory      hardware.Memory
	Model       *hardware.Roofline
	KVBlocks    int64 // that sequences can use
	CacheBlocks int64 // those and the ones that the engine keeps back
	MaxModelLen int32
	PromptMax   int32 // tokens of a prompt that the engine takes; 0: as many as a sequence has

	MaxNumBatchedTokens int // of a rank

	SwapBlocks, OffloadBlocks int64 // of host memory, for swapped sequences and for cached prefixes

	notes []string // warnings
}

// tableMax bounds the batch sizes whose price is tabulated; larger batches are priced when they occur.
const tableMax = 4096

// Replica builds a replica of the first pool of s.
func (s *Scenario) Replica() (*Replica, error) { return s.ReplicaOf(0) }

// ReplicaOf builds a replica of the i-th pool of s, or says which value of s no replica can have.
func (s *Scenario) ReplicaOf(i int) (*Replica, error) {
	p := &s.Pools[i]
	engine, err := Engine(p.Engine)
	if err != nil {
		return nil, s.origins.errorf(s.path(p, "engine"), "%s", bareMessage(err))
	}
	d, err := s.deployment(p)
	if err != nil {
		return nil, err
	}
	efficiency, doubt, err := s.efficiency(p)
	if err != nil {
		return nil, err
	}
	d.Efficiency = efficiency
	r := &Replica{Deployment: d, MaxNumBatchedTokens: p.stepTokens(&engine, &d.Model)}
	if r.Memory, err = d.MemoryOf(p.memoryShare(&engine), p.tokensMax(r.MaxNumBatchedTokens), p.MaxNumSeqs, p.BlockSize); err != nil {
		return nil, s.origins.errorf(s.path(p, ""), "%s%s", bareMessage(err), p.shorterSteps(&engine, err))
	}
	if err := s.cache(r, p, &engine); err != nil {
		return nil, err
	}
	if err := s.hostMemory(r, p, &engine); err != nil {
		return nil, err
	}
	r.limitPrompts(p, &engine)
	r.noteEngine(p, &engine)
	r.price(p)
	r.noteHardware(p)
	r.notes = append(r.notes, s.noteDrafts(p)...)
	r.notes = append(r.notes, s.noteHandover(p)...)
	if doubt != "" {
		r.notes = append(r.notes, doubt)
	}
	return r, nil
}

// price makes the model of a replica's steps from its deployment.
func (r *Replica) price(p *Pool) {
	r.Model = hardware.NewRoofline(r.Deployment, min(p.Seats(), tableMax))
}

// deployment puts the model on the pool's GPUs. What they achieve is another question, see efficiency.
func (s *Scenario) deployment(p *Pool) (d hardware.Deployment, err error) {
	if d.Model, err = s.modelOf(p); err != nil {
		return d, err
	}
	if d.GPU, err = GPU(p.GPU); err != nil {
		return d, s.origins.errorf(s.path(p, "gpu"), "%s", bareMessage(err))
	}
	if d.KVDtype = s.KVCache; d.KVDtype == "" {
		d.KVDtype = d.Model.Precision.KVCache
	}
	if d.KVDtype == "" {
		d.KVDtype = "bf16"
	}
	d.Parallel = hardware.Parallel{Tensor: p.TensorParallel, Pipeline: p.PipelineParallel, Data: p.DataParallel, Expert: p.ExpertParallel}
	d.Materialized = p.Attention == "materialized"
	d.Decoding = s.decoding()
	if p.Decodes() {
		if d.Speculation, err = s.speculation(d.Model); err != nil {
			return d, err
		}
	}
	if d.Launch, err = s.launch(p); err != nil {
		return d, err
	}
	return d, s.undeployable(p, d.Validate())
}

// launch says how the engine drives its GPUs. Capture sizes may be given in any order.
func (s *Scenario) launch(p *Pool) (hardware.Launch, error) {
	l := hardware.Launch{Eager: p.EnforceEager, Async: p.AsyncScheduling}
	if len(p.CUDAGraphCaptureSizes) > 0 {
		l.Graphs = slices.Compact(slices.Sorted(slices.Values(p.CUDAGraphCaptureSizes)))
		return l, nil
	}
	engine, err := Engine(p.Engine)
	if err != nil {
		return l, s.origins.errorf(s.path(p, "engine"), "%s", bareMessage(err))
	}
	rows := p.MaxNumSeqs
	if p.Decodes() {
		rows *= 1 + s.Speculation.DraftsMax()
	}
	l.Graphs = engine.CUDAGraphs.Sizes(p.GPU, rows)
	return l, nil
}

// undeployable points hardware's refusal at the key it is about.
func (s *Scenario) undeployable(p *Pool, err error) error {
	if err == nil {
		return nil
	}
	message := bareMessage(err)
	for _, key := range []string{"tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel"} {
		if rest, ok := strings.CutPrefix(message, key+" "); ok {
			return s.origins.errorf(s.path(p, key), "%s", rest)
		}
	}
	for _, key := range []string{"kv_cache", "weight_sparsity"} {
		if rest, ok := strings.CutPrefix(message, key+" "); ok {
			return s.origins.errorf(key, "%s", rest)
		}
	}
	return s.origins.errorf(s.path(p, ""), "%s", message)
}

// modelOf returns the model that the pool runs: the scenario's, or an encoder as it stands in its checkpoint.
func (s *Scenario) modelOf(p *Pool) (llm.Model, error) {
	if p.Model == "" {
		return s.model()
	}
	m, err := checkpointOf(p.Model)
	if err != nil {
		return m, s.origins.errorf(s.path(p, "model"), "%s", bareMessage(err))
	}
	return m, nil
}

// model returns the model, in the weights that the scenario asks for.
func (s *Scenario) model() (llm.Model, error) {
	m, err := checkpointOf(s.Model)
	if err != nil {
		return m, s.origins.errorf("model", "%s", bareMessage(err))
	}
	if s.Weights != "" {
		if m, err = m.WithWeights(s.Weights); err != nil {
			return m, s.origins.errorf("weights", "%s", bareMessage(err))
		}
	}
	if s.Sparsity != "" {
		if m, err = m.WithSparsity(s.Sparsity); err != nil {
			return m, s.origins.errorf("weight_sparsity", "%s", bareMessage(err))
		}
	}
	return m, nil
}

// checkpointOf returns the model of a catalog name or of a config.json.
func checkpointOf(model string) (llm.Model, error) {
	if !isModelPath(model) {
		m, err := Model(model)
		if at, statErr := os.Stat(model); err != nil && statErr == nil && at.IsDir() {
			err = aDirectory(model)
		}
		return m, err
	}
	f, err := os.Open(model)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return llm.Model{}, fmt.Errorf("file %q does not exist", model)
	case err != nil:
		return llm.Model{}, fmt.Errorf("file cannot be read: %w", err)
	}
	defer f.Close()
	if isDirectory(f) {
		return llm.Model{}, aDirectory(model)
	}
	m, err := huggingface.Read(modelName(model), f)
	if err != nil || filepath.Base(model) != "config.json" || m.Precision != llm.UniformPrecision() {
		return m, err
	}
	return quantizedBeside(m, filepath.Dir(model))
}

func aDirectory(path string) error {
	return fmt.Errorf("%q is a directory; name its config.json", path)
}

// quantizedBeside applies the quantisation that some checkpoints state in a file of its own beside a config.json that is
// silent about it. Without it, their weights would count as bf16.
func quantizedBeside(m llm.Model, dir string) (llm.Model, error) {
	f, err := os.Open(filepath.Join(dir, "hf_quant_config.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, fmt.Errorf("quantisation cannot be read: %w", err)
	}
	defer f.Close()
	if m, err = huggingface.Quantize(m, f); err != nil {
		err = fmt.Errorf("hf_quant_config.json: %w", err)
	}
	return m, err
}

// modelName names a model by its file, or by the directory of a file that is called like all others.
func modelName(path string) string {
	name := filepath.Base(path)
	if name == "config.json" {
		return filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// bareMessage is an error without the package that found it, for it gets a position in the user's file instead.
func bareMessage(err error) string {
	message := err.Error()
	for _, name := range []string{"configs: ", "hardware: ", "huggingface: ", "policies: ", "workloads: "} {
		message = strings.TrimPrefix(message, name)
	}
	return message
}
