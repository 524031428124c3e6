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
	assert.Equal(t, `did you mean "nvfp4"?`, DidYouMean("values", "nvpf4", precisions))
}
