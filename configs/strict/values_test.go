package strict

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAShortFormOfSeveralValuesNamesThemAll, not the one that only looks like it.
func TestAShortFormOfSeveralValuesNamesThemAll(t *testing.T) {
	precisions := []string{"bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"}
	assert.Equal(t, `did you mean one of "mxfp4", "nvfp4"?`, DidYouMean("values", "FP4", precisions))
	assert.Equal(t, `did you mean "fp8"?`, DidYouMean("values", "FP8", precisions))
	for word, want := range map[string]string{"fp16": "bf16", "Half": "bf16", "awq": "int4", "fp8_e4m3": "fp8"} {
		assert.Equal(t, `did you mean "`+want+`"?`, DidYouMean("values", word, precisions))
	}
	assert.Equal(t, `valid keys: "bf16"`, DidYouMean("keys", "awq", []string{"bf16"}), "a key is no precision")
	assert.Equal(t, `did you mean "nvfp4"?`, DidYouMean("values", "nvpf4", precisions))
}
