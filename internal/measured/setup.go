package measured

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
)

// setup is what a run was set up with; text writes it as a scenario. Empty values are the engine's defaults.
type setup struct {
	model     string // catalog name
	weights   string // empty: as in the checkpoint
	kvCache   string
	gpu       string
	engine    string // of Labels, for it decides how arguments are called: before the first of them
	tensor    int
	data      int // attention data-parallel ranks; 0: 1
	expert    bool
	arguments []string // of the pool, as "max_num_seqs: 256"
	workload  []string // lines, without indent

	role     string   // empty: serve
	replicas int      // 0: one
	apart    []*setup // one for each pool where prompts and outputs have pools of their own, which say what is above from gpu to arguments
	router   string   // empty: the default
}

// arg adds an argument of the pool, if it has a value, by the name that the engine has for the key.
func (s *setup) arg(key string, value any) {
	text := fmt.Sprint(value)
	if text == "" || text == "0" {
		return
	}
	if engine, err := catalog.Engine(s.scheduled()); err == nil {
		key = engine.Own(key)
	}
	s.arguments = append(s.arguments, key+": "+text)
}

// load adds a line of the workload.
func (s *setup) load(format string, args ...any) {
	s.workload = append(s.workload, fmt.Sprintf(format, args...))
}

// text writes the scenario.
func (s *setup) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("model: %s", s.model)
	if s.weights != "" {
		line("weights: %s", s.weights)
	}
	if s.kvCache != "" {
		line("kv_cache: %s", s.kvCache)
	}
	line("pools:")
	for _, p := range s.pools() {
		p.pool(line)
	}
	if s.router != "" {
		line("router: %s", s.router)
	}
	line("workload:")
	for _, w := range s.workload {
		line("  %s", w)
	}
	return b.String()
}

// pools returns the setups of all pools.
func (s *setup) pools() []*setup {
	if len(s.apart) > 0 {
		return s.apart
	}
	return []*setup{s}
}

// pool writes one pool.
func (s *setup) pool(line func(format string, args ...any)) {
	if s.role == "" {
		line("  - gpu: %s", s.gpu)
	} else {
		line("  - name: %s\n    role: %s\n    gpu: %s\n    replicas: %d", s.role, s.role, s.gpu, s.replicas)
	}
	line("    tensor_parallel: %d", max(1, s.tensor))
	if s.data > 1 {
		line("    data_parallel: %d", s.data)
	}
	if s.expert {
		line("    expert_parallel: true")
	}
	if e := s.scheduled(); e != "" {
		line("    engine: %s", e)
	} else if s.engine == EagerStack {
		line("    efficiency: %s", EagerStack)
	}
	for _, a := range s.arguments {
		line("    %s", a)
	}
}

// scheduled names the engine that forms the batches, as scenarios do; empty: that of a pool which does not say, vLLM. It
// stands in for stacks from before CUDA graphs, which have efficiencies of their own.
func (s *setup) scheduled() string {
	if s.engine != "vllm" && slices.Contains(enginesModelled, s.engine) {
		return s.engine
	}
	return ""
}

// closed adds a closed loop of so many clients, all of which start at once.
func (s *setup) closed(clients, requests int) {
	s.load("closed_loop: {concurrency: %d}", clients)
	s.load("requests: %d", requests)
}

// lengths adds the laws of prompt and output: fixed, or uniform in [share·n, n].
func (s *setup) lengths(prompt, output int, share float64) {
	for _, l := range []struct {
		key string
		n   int
	}{{"prompt_tokens", prompt}, {"output_tokens", output}} {
		if share == 1 {
			s.load("%s: {distribution: fixed, mean: %d}", l.key, l.n)
		} else {
			s.load("%s: {distribution: uniform, min: %d, max: %d}", l.key, max(1, int(share*float64(l.n))), l.n)
		}
	}
}
