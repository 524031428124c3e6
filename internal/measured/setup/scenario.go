package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// Scenario is what a run was set up with; text writes it as a scenario. Empty values are the engine's defaults.
type Scenario struct {
	Model          string // catalog name
	Weights        string // empty: as in the checkpoint
	KVCache        string
	GPU            string
	Engine         string // of Labels, for it decides how arguments are called: before the first of them
	TensorParallel int
	DataParallel   int // attention data-parallel ranks; 0: 1
	ExpertParallel bool
	Version        string   // of the engine, as the measurement says it; empty: unknown
	Scheduling     string   // engine that forms the batches, as scenarios name it; empty: as Engine says
	Arguments      []string // of the pool, as "max_num_seqs: 256"
	Workload       []string // lines, without indent

	Role     string // empty: serve
	Replicas int    // 0: one
	// one for each pool where prompts and outputs have pools of their own, which say what is above from gpu to arguments
	Pools  []*Scenario
	Router string // empty: the default

	Speculation string // as a scenario has it; empty: none
	Sampling    string // the same; empty: the default
}

// Argument adds an argument of the pool, if it has a value, by the name that the engine has for the key.
func (s *Scenario) Argument(key string, value any) {
	text := fmt.Sprint(value)
	if text == "" || text == "0" {
		return
	}
	if engine, err := catalog.Engine(s.SchedulingEngine()); err == nil {
		key = engine.Own(key)
	}
	s.Arguments = append(s.Arguments, key+": "+text)
}

// AddWorkload adds a line of the workload.
func (s *Scenario) AddWorkload(format string, args ...any) {
	s.Workload = append(s.Workload, fmt.Sprintf(format, args...))
}

// Text writes the scenario.
func (s *Scenario) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("model: %s", s.Model)
	if s.Weights != "" {
		line("weights: %s", s.Weights)
	}
	if s.KVCache != "" {
		line("kv_cache: %s", s.KVCache)
	}
	line("pools:")
	for _, p := range s.everyPool() {
		p.writePool(line, s.Version)
	}
	if s.Router != "" {
		line("router: %s", s.Router)
	}
	if s.Speculation != "" {
		line("speculation: %s", s.Speculation)
	}
	if s.Sampling != "" {
		line("decoding: {sampling: %s}", s.Sampling)
	}
	line("workload:")
	for _, w := range s.Workload {
		line("  %s", w)
	}
	return b.String()
}

// everyPool returns the setups of all pools.
func (s *Scenario) everyPool() []*Scenario {
	if len(s.Pools) > 0 {
		return s.Pools
	}
	return []*Scenario{s}
}

// writePool writes one pool, under the release that ran it.
func (s *Scenario) writePool(line func(format string, args ...any), version string) {
	if s.Role == "" {
		line("  - gpu: %s", s.GPU)
	} else {
		line("  - name: %s\n    role: %s\n    gpu: %s\n    replicas: %d", s.Role, s.Role, s.GPU, s.Replicas)
	}
	line("    tensor_parallel: %d", max(1, s.TensorParallel))
	if s.DataParallel > 1 {
		line("    data_parallel: %d", s.DataParallel)
	}
	if s.ExpertParallel {
		line("    expert_parallel: true")
	}
	if e := s.SchedulingEngine(); e != "" {
		line("    engine: %s", e)
	} else if s.Engine == measured.EagerStack {
		line("    efficiency: %s", measured.EagerStack)
	}
	if name := catalog.Released(s.Engine, version); name != s.Engine && slices.Contains(names.EnginesModelled, s.Engine) {
		line("    efficiency: %s", name)
	}
	if release := s.release(version); release != "" {
		line("    version: %s", release)
	}
	for _, a := range s.Arguments {
		line("    %s", a)
	}
}

// release returns the release whose rules stand for a measured version, the oldest where nobody states it; empty: the
// engine has only one.
func (s *Scenario) release(version string) string {
	engine, err := catalog.Engine(cmp.Or(s.SchedulingEngine(), "vllm-v1"))
	if err != nil {
		return ""
	}
	return string(engine.Known(version))
}

// SchedulingEngine names the engine that forms the batches, as scenarios do; empty: that of a pool which does not say,
// vLLM. It stands in for stacks from before CUDA graphs, which have efficiencies of their own.
func (s *Scenario) SchedulingEngine() string {
	if s.Scheduling != "" {
		return s.Scheduling
	}
	if s.Engine != "vllm" && slices.Contains(names.EnginesModelled, s.Engine) {
		return s.Engine
	}
	return ""
}

// ClosedLoop adds a closed loop of so many clients, all of which start at once.
func (s *Scenario) ClosedLoop(clients, requests int) {
	s.AddWorkload("closed_loop: {concurrency: %d}", clients)
	s.AddWorkload("requests: %d", requests)
}

// Lengths adds the laws of prompt and output: fixed, or uniform in [share·n, n].
func (s *Scenario) Lengths(prompt, output int, share float64) {
	for _, l := range []struct {
		key string
		n   int
	}{{"prompt_tokens", prompt}, {"output_tokens", output}} {
		if share == 1 {
			s.AddWorkload("%s: {distribution: fixed, mean: %d}", l.key, l.n)
		} else {
			s.AddWorkload("%s: {distribution: uniform, min: %d, max: %d}", l.key, max(1, int(share*float64(l.n))), l.n)
		}
	}
}

// Uneven adds laws of prompt and output under which requests that start together soon end one by one: prompts as uneven
// as InferenceX's, and outputs that are even between half and one and a half times the length that is stated.
func (s *Scenario) Uneven(prompt, output int) {
	const least, half = 0.8, 0.5
	s.AddWorkload("prompt_tokens: {distribution: uniform, min: %d, max: %d}", max(1, int(least*float64(prompt))), prompt)
	s.AddWorkload("output_tokens: {distribution: uniform, min: %d, max: %d}", max(1, int(half*float64(output))),
		output+int(half*float64(output)))
}

// Prefix is how many tokens the prompts of a group have in common, as far as the run let prompts repeat.
type Prefix struct{ Groups, PerGroup, Tokens int }

// RepeatPrompts makes prompts repeat: groups × each distinct ones, shuffled once and cycled, of which a group shares
// the first tokens. It returns what is left of a prompt behind those.
func (s *Scenario) RepeatPrompts(p Prefix, prompt int) (rest int) {
	if p.Groups > 0 && p.PerGroup > 0 {
		s.AddWorkload("distinct_prompts: %d", p.Groups*p.PerGroup)
	}
	if p.Groups > 0 && p.Tokens > 0 && p.Tokens < prompt {
		s.AddWorkload("prefix: {groups: %d, tokens: %d}", p.Groups, p.Tokens)
		return prompt - p.Tokens
	}
	return prompt
}

// CachePrefixes says whether the engine keeps the prefixes of prompts.
func (s *Scenario) CachePrefixes(on bool) {
	s.Argument("enable_prefix_caching", on)
}
