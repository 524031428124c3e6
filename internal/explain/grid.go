package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/text"
)

// Axis is something of which a question has several values.
type Axis struct {
	Name   string   // as tables head it
	Values []string // as they were asked for
	Counts []int    // the same as numbers, of a batch or a context
}

// Cell is one of the steps asked for.
type Cell struct {
	Values []string     `json:"-"` // of each axis
	Step   *Explanation `json:"step,omitempty"`
	Why    string       `json:"refused,omitempty"` // why there is no such step: the model does not fit
}

// Grid is the steps of every combination of several values.
type Grid struct {
	Axes  []Axis `json:"-"`
	Cells []Cell `json:"steps"` // the last axis changes fastest
	scope *Step  // any of them: what they have in common
	notes []string
}

// gridMax bounds the combinations of a grid.
const gridMax = 1000

// NewGrid explains every combination. Ask returns the question of one; a deployment whose memory the model does not fit
// is part of the answer.
func NewGrid(ctx context.Context, axes []Axis, ask func(values []string) (Question, error)) (*Grid, error) {
	n := 1
	for _, a := range axes {
		n *= len(a.Values)
		if n > gridMax {
			return nil, fmt.Errorf("explain: more than %d combinations of values; expected fewer", gridMax)
		}
	}
	g := &Grid{Axes: axes}
	for i := range n {
		values := make([]string, len(axes))
		rest := i
		for a := len(axes) - 1; a >= 0; a-- {
			values[a] = axes[a].Values[rest%len(axes[a].Values)]
			rest /= len(axes[a].Values)
		}
		if err := g.add(ctx, values, ask); err != nil {
			return nil, err
		}
	}
	if g.scope == nil {
		return nil, fmt.Errorf("explain: %s", g.Cells[0].Why)
	}
	return g, nil
}

func (g *Grid) add(ctx context.Context, values []string, ask func(values []string) (Question, error)) error {
	q, err := ask(values)
	if err != nil {
		return err
	}
	s, err := New(ctx, q)
	var full *hardware.MemoryError
	if errors.As(err, &full) {
		g.Cells = append(g.Cells, Cell{Values: values, Why: fmt.Sprintf("does not fit: each GPU misses %s",
			text.Scaled(full.MissBytes, "B"))})
		return nil
	}
	if err != nil {
		return err
	}
	x, err := s.Explain()
	if err != nil {
		return err
	}
	g.scope = s
	g.note(s, x, values)
	g.Cells = append(g.Cells, Cell{Values: values, Step: x})
	return nil
}

// barMax is the letters of the longest bar.
const barMax = 24

// Text writes the grid as a table, with a bar for the time of each step.
func (g *Grid) Text() []byte {
	var b strings.Builder
	longest, head, kernels := 0.0, []string{}, false
	for _, a := range g.Axes {
		head = append(head, a.Name)
	}
	for _, c := range g.Cells {
		if c.Step != nil {
			longest = max(longest, c.Step.StepS)
			kernels = kernels || c.Step.KernelShare >= leastPrinted
		}
	}
	head = append(head, "step ms", "tokens/s", "per GPU", "× bound", "limit", "weights", "KV", "compute")
	if kernels {
		head = append(head, "kernels")
	}
	rows := [][]string{append(head, "comm.", "overhead", "")}
	for _, c := range g.Cells {
		rows = append(rows, append(append([]string{}, g.written(&c)...), g.cells(&c, longest, kernels)...))
	}
	fmt.Fprintf(&b, "%s · one decode step of each combination\n\n%s", g.title(), text.Table(rows, len(rows[0])-1))
	if kernels {
		b.WriteString("kernels: arithmetic that they keep far below the peak FLOP/s\n")
	}
	for _, said := range g.accuracy() {
		fmt.Fprintf(&b, "accuracy: %s\n", said)
	}
	for _, note := range g.notes {
		fmt.Fprintf(&b, "warning: %s\n", note)
	}
	return []byte(b.String())
}

// accuracy says the errors to expect of the steps, each once.
func (g *Grid) accuracy() (said []string) {
	for _, c := range g.Cells {
		if c.Step == nil {
			continue
		}
		for i := range c.Step.Expected {
			if sentence := expected.Sentence(&c.Step.Expected[i]); !slices.Contains(said, sentence) {
				said = append(said, sentence)
			}
		}
	}
	return said
}

// written are the values of a cell as a table has them.
func (g *Grid) written(c *Cell) []string {
	out := append([]string{}, c.Values...)
	for i, a := range g.Axes {
		for j, value := range a.Values {
			if value == c.Values[i] && a.Counts != nil {
				out[i] = text.Count(a.Counts[j])
			}
		}
	}
	return out
}

// cells are what a step came to.
func (g *Grid) cells(c *Cell, longest float64, kernels bool) []string {
	x := c.Step
	if x == nil {
		none := slices.Repeat([]string{"–"}, 10)
		if kernels {
			none = append(none, "–")
		}
		return append(none, c.Why)
	}
	bar := strings.Repeat("█", max(1, int(barMax*x.StepS/longest+0.5)))
	if !x.Fits {
		bar += " does not fit"
	}
	share := &x.Share
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	out := []string{
		milli(x.StepS), text.Significant(x.TokensPerS), text.Significant(x.TokensPerS / float64(x.GPUs)),
		text.Significant(x.StepS / x.BoundS), x.Limit, percent(share.Weights), percent(share.KV), percent(x.computeShare()),
	}
	if kernels {
		out = append(out, percent(x.KernelShare))
	}
	return append(out, percent(share.Communication), percent(share.Overhead), bar)
}

// title says what the steps have in common.
func (g *Grid) title() string {
	s, parts := g.scope, []string{}
	if s.name != "" {
		parts = append(parts, s.name)
	}
	parts = append(parts, s.Deployment.Model.Name)
	if hardware := g.hardware(); hardware != "" {
		parts = append(parts, hardware)
	}
	if at := g.at(); at != "" {
		parts = append(parts, at)
	}
	return strings.Join(append(parts, s.Pool.Engine), " · ")
}

// varies reports whether there are several values of what is called so.
func (g *Grid) varies(name string) bool {
	return slices.ContainsFunc(g.Axes, func(a Axis) bool { return a.Name == name })
}

// hardware names the GPUs of a replica where all steps run on the same; empty: they do not.
func (g *Grid) hardware() string {
	if g.varies("gpu") || g.varies("tensor parallel") {
		return ""
	}
	return replicaOf(g.scope.Pool)
}

// at says the batch and the context that all steps have.
func (g *Grid) at() string {
	s, parts := g.scope, []string{}
	if !g.varies("batch") {
		parts = append(parts, "batch "+text.Count(s.batch)+because(s.batchWhy))
	}
	if !g.varies("context") {
		parts = append(parts, "context "+text.Count(s.Context)+because(s.contextWhy))
	}
	return strings.Join(parts, ", ")
}

// note adds what a reader should know of a deployment, each once. That a batch does not fit its row says.
func (g *Grid) note(s *Step, x *Explanation, values []string) {
	var deployed []string
	for i, a := range g.Axes {
		if a.Counts == nil {
			deployed = append(deployed, values[i])
		}
	}
	of := strings.Join(deployed, ", ")
	if of != "" {
		of += ": "
	}
	for _, note := range append(build.Warnings(s.scenario, s.Replica), x.slowParts()...) {
		if !slices.Contains(g.notes, of+note) {
			g.notes = append(g.notes, of+note)
		}
	}
}
