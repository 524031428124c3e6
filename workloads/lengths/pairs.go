package lengths

import (
	"fmt"

	"github.com/decodesim/decodesim/workloads/check"
)

// Pairs are recorded prompt and output lengths that belong together, for an open or closed loop to take in order.
type Pairs struct {
	Prompts, Outputs []int32  // tokens
	Skipped          int64    // rows of failed requests that the file has besides
	Unread           []string // columns that the file has besides
}

// NewPairs returns pairs that are written out, each a prompt and an output.
func NewPairs(values [][]int64) (*Pairs, error) {
	p := &Pairs{Prompts: make([]int32, len(values)), Outputs: make([]int32, len(values))}
	for i, v := range values {
		if len(v) != 2 || min(v[0], v[1]) < 1 || max(v[0], v[1]) > check.TokensMax {
			return nil, check.Refuse(fmt.Sprintf("lengths.values[%d]", i), v,
				fmt.Sprintf("two whole numbers from 1 to %d, the tokens of a prompt and of its output", check.TokensMax))
		}
		p.Prompts[i], p.Outputs[i] = int32(v[0]), int32(v[1])
	}
	if len(values) == 0 {
		return nil, check.Refuse("lengths.values", values, "at least one pair, such as [[512, 128]]")
	}
	return p, nil
}

// Len returns how many pairs there are.
func (p *Pairs) Len() int { return len(p.Prompts) }

// First returns the first n pairs.
func (p *Pairs) First(n int64) *Pairs { return &Pairs{Prompts: p.Prompts[:n], Outputs: p.Outputs[:n]} }

// Means returns the mean prompt and output in tokens.
func (p *Pairs) Means() (prompt, output float64) {
	prompts, outputs := int64(0), int64(0) // below 2^57: traces has at most 2^27 pairs of less than 2^30 tokens
	for i := range p.Prompts {
		prompts, outputs = prompts+int64(p.Prompts[i]), outputs+int64(p.Outputs[i])
	}
	n := float64(len(p.Prompts))
	return float64(prompts) / n, float64(outputs) / n
}
