package build

import (
	"bytes"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

// fuzzedFiles keeps fuzzed text off the disk: of the paths that it could name, none is read.
func fuzzedFiles(text string) bool {
	return strings.ContainsAny(text, `/\`) || strings.Contains(text, "file") || strings.Contains(text, ".json") ||
		strings.Contains(text, ".y")
}

// small reports whether a scenario builds in little memory.
func small(s *configs.Scenario) bool {
	n := 0
	for i := range s.Pools {
		n += max(s.Pools[i].Replicas, s.Pools[i].ReplicasMax) * s.Pools[i].GPUs()
	}
	return n <= 1000
}

// resolves requires that a scenario written out with its defaults is read as the same scenario, and that what loads is
// built or refused.
func resolves(t *testing.T, s *configs.Scenario) {
	text := s.YAML()
	again, err := configs.Read("fuzzed.yaml", text, configs.Options{})
	if err != nil {
		t.Fatalf("the resolved scenario is refused: %v\n%s", err, text)
	}
	if !bytes.Equal(text, again.YAML()) {
		t.Fatalf("the resolved scenario resolves to another:\n%s\n---\n%s", text, again.YAML())
	}
	if !small(s) {
		return
	}
	if b, err := New(s); err == nil {
		b.Close()
	}
}

// FuzzScenario reads any text as a scenario.
func FuzzScenario(f *testing.F) {
	for _, name := range configs.ScenarioNames() {
		text, err := catalog.File("scenarios/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("model: {config: llama-3.1-8b, override: {context: 4096}, published: {total: 8e9}}\n" +
		"pools: [{gpu: {from: 2xH100, bandwidth_bps: 5e12}, efficiency: {base: vllm, link: 0.85}}]\n" +
		"workload: {arrivals: {process: poisson, rate: 1}, prompt_tokens: {distribution: fixed, mean: 5}, " +
		"output_tokens: {distribution: fixed, mean: 5}, requests: 5}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if fuzzedFiles(string(text)) {
			return
		}
		s, err := configs.Read("fuzzed.yaml", text, configs.Options{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzzed.yaml:") {
				t.Fatalf("an error that does not say its file: %v", err)
			}
			return
		}
		resolves(t, s)
	})
}

// FuzzSet puts any key=value over a scenario.
func FuzzSet(f *testing.F) {
	for _, set := range []string{"workload.arrivals.rate=12", "pools.serve.replicas=3", "seed=1", "weights=fp8",
		"workload.output_tokens.mean=1e308", "pools.serve.max_num_seqs=99999999999", "workload.requests=null",
		"slo.ttft_ms=.5", "router=round-robin", "speculation.method=eagle", "pools[0].gpu=8xH100",
		"pools.serve.engine=sglang", "model=llama-3.1-8b", "model.override={context: 4096}", "model.ignore=[a, b]",
		"pools.serve.gpu.bandwidth_bps=5e12", "pools.serve.efficiency.link=0.8", "slo=['ttft p95 <= 1s']",
		"noise.step_cv=0.1", "autoscale=null"} {
		f.Add("chat-8b", set)
		f.Add("pd-70b", set)
	}
	f.Fuzz(func(t *testing.T, name, set string) {
		if fuzzedFiles(set) || fuzzedFiles(name) || strings.HasPrefix(name, "-") {
			return
		}
		s, err := configs.Load(name, configs.Options{Set: []string{set}})
		if err == nil {
			resolves(t, s)
		}
	})
}
