package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// CUDAGraphs says which CUDA graphs an engine captures. The zero value is none.
type CUDAGraphs struct {
	Grid            string         `yaml:"grid"` // sequences, as SGLang counts; empty: rows of any step, as vLLM does
	RowsPerSequence int            `yaml:"rows_per_sequence"`
	RowsMax         []CUDAGraphMax `yaml:"rows_max"` // the first row that fits a GPU; the last fits all
	// the first release that also captures the batches that decode, from one sequence to all; empty: none does
	BatchesSince strict.Release `yaml:"batches_since"`
}

// CUDAGraphMax is the limit on GPUs whose name starts so; empty: on all.
type CUDAGraphMax struct {
	Since strict.Release `yaml:"since"` // only from this release on; empty: in all
	GPU   string         `yaml:"gpu"`
	Rows  int            `yaml:"rows"`
}

// GridSequences is the grid of graphs that only decodes run.
const GridSequences = "sequences"

// Decoding is what the graphs of an engine are captured for.
type Decoding struct {
	GPU       string
	Sequences int // in a batch of a rank
	Rows      int // of a sequence in a step: its token and its drafts
	Tokens    int // of a step; 0: any number
	Largest   int // sequences of the largest graph, of EngineLimit; 0: the limit is one of rows

	Interactive bool // vLLM's performance_mode interactivity: every number of rows up to 32
}

// Graphs returns the rows that a release of e captures; nil: none.
//
//	rows       up to min(rows_per_sequence · sequences · rows of each, rows_max, tokens), and tokens where they fit
//	sequences  up to the largest graph or batch, times the rows of each
func (e *EngineSpec) Graphs(v strict.Release, d *Decoding) []int {
	c := &e.CUDAGraphs
	if c.Grid == GridSequences {
		return times(sequenceGrid(min(d.Largest, d.Sequences), d.Rows > 1), d.Rows)
	}
	for _, l := range c.RowsMax {
		if strings.HasPrefix(d.GPU, l.GPU) && e.since(v, l.Since) {
			sizes := rowGrid(min(c.RowsPerSequence*d.Sequences*d.Rows, l.Rows), d)
			if c.BatchesSince != "" && e.since(v, c.BatchesSince) {
				sizes = append(sizes, batchGrid(min(c.RowsPerSequence*d.Sequences*d.Rows, l.Rows), l.Rows, d)...)
			}
			return slices.Compact(slices.Sorted(slices.Values(sizes)))
		}
	}
	return nil
}

// rowGrid returns what vLLM captures for any step (vllm/config/vllm.py, _set_cudagraph_sizes).
func rowGrid(most int, d *Decoding) []int {
	if d.Tokens > 0 {
		most = min(most, d.Tokens)
	}
	sizes := hardware.CaptureSizes(most)
	if d.Interactive {
		for n := 1; n <= min(most, 32); n++ {
			sizes = append(sizes, n)
		}
	}
	if d.Tokens > 0 && d.Tokens <= most {
		sizes = append(sizes, d.Tokens)
	}
	return sizes
}

// batchGrid returns the rows of batches that decode, which vLLM captures too from 0.33 on: the batch of all sequences,
// and with drafts a batch of each number of sequences that is a number of rows in the grid of other steps.
func batchGrid(most, rowsMax int, d *Decoding) (sizes []int) {
	batches := []int{d.Sequences}
	if d.Rows > 1 {
		batches = append(hardware.CaptureSizes(min(d.Sequences, rowsMax)), min(d.Sequences, rowsMax))
	}
	for _, n := range times(batches, d.Rows) {
		if n <= most && (d.Tokens == 0 || n <= d.Tokens) {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// times multiplies every number, in place.
func times(all []int, by int) []int {
	for i := range all {
		all[i] *= by
	}
	return all
}

// sequenceGrid returns the batches that SGLang 0.5.23 captures (sglang/srt/arg_groups/cuda_graph_hook.py, from line
// 500), with drafts more closely.
func sequenceGrid(most int, drafts bool) []int {
	sizes := []int{1, 2, 4, 8, 12}
	ranges := [][3]int{{16, 256, 8}, {272, 511, 16}, {512, most, 32}}
	if drafts {
		sizes = nil
		ranges = [][3]int{{1, 8, 1}, {10, 32, 2}, {40, 64, 4}, {72, 256, 8}, {272, most, 16}}
	}
	for _, r := range ranges {
		for n := r[0]; n <= r[1]; n += r[2] {
			sizes = append(sizes, n)
		}
	}
	sizes = slices.DeleteFunc(sizes, func(n int) bool { return n > most })
	if !slices.Contains(sizes, most) {
		sizes = append(sizes, most)
	}
	return sizes
}

func (c *CUDAGraphs) validate(versions []strict.Release) error {
	n, none := len(c.RowsMax), len(c.RowsMax) == 0 && c.RowsPerSequence == 0
	switch {
	case c.Grid != "" && (c.Grid != GridSequences || !none):
		return fmt.Errorf("cuda_graphs.grid: %q; expected %s without rows, or nothing", c.Grid, GridSequences)
	case !none && (n == 0 || c.RowsMax[n-1].GPU != "" || c.RowsMax[n-1].Since != "" || c.RowsPerSequence < 1):
		return errors.New(
			"cuda_graphs: expected rows_per_sequence ≥ 1 and a last row of rows_max that fits every GPU: without gpu")
	}
	for i, l := range c.RowsMax {
		if l.Since != "" && !slices.Contains(versions, l.Since) {
			return fmt.Errorf("cuda_graphs.rows_max[%d].since: %q; expected one of versions", i, l.Since)
		}
		if l.Rows < 1 || l.Rows > 1<<16 {
			return fmt.Errorf("cuda_graphs.rows_max[%d].rows: %d is out of range; expected 1 to %d", i, l.Rows, 1<<16)
		}
	}
	return nil
}
