package hardware

import (
	"fmt"
	"strings"
)

// Decoding is how tokens are chosen from logits, as far as that costs more time than Efficiency.SequenceS.
// The zero value is greedy.
type Decoding struct {
	Sampling    Sampling
	StructuredS float64 // seconds of the host per step for a grammar that constrains the output; 0: none
}

// Sampling names a way to choose a token.
type Sampling string

// The ways to choose a token.
const (
	Greedy Sampling = "greedy" // the likeliest; reading the logits once is part of the measured time per sequence
	TopK   Sampling = "top-k"  // of the k likeliest
	TopP   Sampling = "top-p"  // of the likeliest whose probabilities sum to p, with or without a k

	// TopPSorted is top-p as operators of PyTorch do it one by one: what vLLM before 0.17 does by default
	// (vllm/v1/sample/ops/topk_topp_sampler.py of 0.14.1 and 0.16.0: apply_top_k_top_p; 0.17.0 has a kernel of its own).
	TopPSorted Sampling = "top-p-sorted"
)

// Samplings lists them.
func Samplings() []string {
	return []string{string(Greedy), string(TopK), string(TopP), string(TopPSorted)}
}

// bytesPerLogit returns what choosing moves beyond greedy, per logit of 4 bytes of a row. Every GPU of a group does it
// for the whole vocabulary. Two are counted from the algorithms and measured on no engine, so unverified:
//
//	top-k  a radix select reads the row once for each of four 8-bit digits, masks it, and reads it again:
//	       4·4 + 4 + 4
//	top-p  for each of four digits a radix sort reads each key to count digits, and reads and writes key and index of
//	       4 bytes each (Merrill & Grimshaw, Parallel Processing Letters 21(2), 2011): 4·(4 + 2·8); the softmax
//	       reads twice and writes, the running sum reads and writes: 5·4
//
//	top-p-sorted is as timed: 367, beside what a step takes once, see stepS.
//
// Of the 88 experiments under open load in docs/accuracy.md, all of vLLM 0.15.1, E2E with the deployment left out is
// 6.0 % off in the median and 13.0 % nine times in ten if all are greedy, and 2.7 and 9.3 % if those whose checkpoints
// ask for it sort, in the time that we measured on a GPU alone.
func (s Sampling) bytesPerLogit() (float64, error) {
	switch s {
	case "", Greedy:
		return 0, nil
	case TopK:
		return 24, nil
	case TopP:
		return 100, nil
	case TopPSorted:
		return topPSortedBytes, nil
	}
	return 0, fmt.Errorf("hardware: sampling %q not known; valid values: %s", s, strings.Join(Samplings(), ", "))
}

// Sorting by operators of PyTorch, beyond the greatest of all logits: 21 batches of 4 to 256 rows of 32,000 to 151,936
// logits took us 84 µs + V · 1.78 ns + M · V · 367 B / (0.866 · BW) on an H100 SXM, V logits and M rows, 4 % off in the
// median and 15 % at most (tools/kernels/sampling.py under PyTorch 2.11, in a CUDA graph; a single row takes half of
// what a step takes once).
const (
	topPSortedBytes  = 367
	topPSortedStepS  = 84e-6
	topPSortedLogitS = 1.78e-9
)

// stepS is what choosing the tokens of a step takes however few they are.
func (s Sampling) stepS(vocab int) float64 {
	if s != TopPSorted {
		return 0
	}
	return topPSortedStepS + float64(topPSortedLogitS*float64(vocab))
}

// samplePS returns the time to choose the token of a row, in picoseconds, at the bandwidth that reading weights
// achieves.
func (d *Deployment) samplePS() float64 {
	bytes, err := d.Decoding.Sampling.bytesPerLogit()
	if err != nil {
		panic(err) // Validate refuses it
	}
	return bytes * float64(d.Model.Vocab) / (d.Efficiency.Bandwidth * d.GPU.BandwidthBps.Value) * psPerS
}

func (c *Decoding) validate() error {
	if !(c.StructuredS >= 0 && c.StructuredS <= 3600) {
		return fmt.Errorf("hardware: structured_output_s %g; expected seconds from 0 to 3600", c.StructuredS)
	}
	_, err := c.Sampling.bytesPerLogit()
	return err
}
