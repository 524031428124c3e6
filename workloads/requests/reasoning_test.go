package requests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/workloads/lengths"
)

// TestOnlyWhatIsSaidToReasonReasons: a share of 0 is none, and a law of one class is one of the sampler's.
func TestOnlyWhatIsSaidToReasonReasons(t *testing.T) {
	plain := Mix{Prompt: lengths.Fixed(9), Output: lengths.Fixed(9)}
	share, law, class := plain, plain, plain
	share.Reasoning.Share = 1e-3
	law.Reasoning.Tokens = lengths.Fixed(3)
	class.Classes = []Class{{Name: "a", Share: .5}, {Name: "b", Share: .5, Reasoning: lengths.Fixed(4)}}
	for reasons, mixes := range map[bool][]Mix{false: {plain}, true: {share, law, class}} {
		for _, m := range mixes {
			s, err := NewSampler(m, 1)
			require.NoError(t, err)
			require.Equal(t, reasons, s.Reasons(), "%+v", m)
			require.Equal(t, reasons && m.Classes == nil, m.Reasoning.Given(), "of all classes: %+v", m)
		}
	}
}
