package setup_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/internal/measured/setup"
)

func TestOlderReleasesPlanOneStepAtATime(t *testing.T) {
	for _, c := range []struct {
		engine, version string
		between         bool
	}{
		{"vllm", "0.7.3", true}, {"vllm", "0.9.0.2.dev108+g71faa1880", true}, {"vllm", "vLLM 0.10.0; RHEL 9.6", true},
		{"vllm", "v0.13.0", true}, {"vllm", "0.14.0", false}, {"vllm", "0.22.1", false}, {"vllm", "1.0", false},
		{"vllm", "", false}, {"vllm", "nightly-5b8c", false}, {"vllm", "0.140", false},
		{"tensorrt-llm", "0.6.1", true}, {"tensorrt-llm", "0.17", true}, {"tensorrt-llm", "0.20", false},
		{"tensorrt-llm", "1.0.0rc3", false}, {"sglang", "0.5.6", false},
	} {
		assert.Equal(t, c.between, setup.PlansBetween(c.engine, c.version), "%s %s", c.engine, c.version)
	}
}
