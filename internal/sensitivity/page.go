package sensitivity

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/text"
)

// Page returns the page of an analysis; base is the resolved scenario as the page has it.
func (r *Result) Page(base []byte) *page.Page {
	p := &page.Page{Kind: "Sensitivity", Caption: r.caption().String(), Question: r.question(), Facts: r.facts(),
		Foot: pages.Foot(r.Version)}
	p.Answer, p.Mood = r.answer()
	add := func(title, lead string, blocks ...page.Block) {
		p.Sections = append(p.Sections, page.Section{Title: title, Lead: lead, Blocks: blocks})
	}
	add("What changes the decision", "", page.Block{List: r.Sentences})
	add("What "+r.Metric+" rests on",
		"Each input at the ends of its range, the others as they are. Hovering shows the values.",
		page.Block{Bars: r.tornado()})
	add("The inputs", "The most on top; ~: within chance of the seeds.", page.Block{Table: r.table()},
		page.Block{Fold: &page.Fold{Title: "Where the ranges come from", Blocks: []page.Block{{Table: r.sources()}}}})
	p.Sections = append(p.Sections, pages.Accuracy(r.Expected), pages.Warnings(r.warnings()), r.assumed(),
		pages.Again(r.Command+" --out again", r.Version, page.Code{Name: "scenario.yaml", Text: string(base)}))
	return p
}

func (r *Result) caption() text.Caption {
	return text.Caption{Scenario: r.Scenario, Model: r.Is, Seed: &r.Seed}
}

func (r *Result) question() string {
	if r.Of == "size" {
		return fmt.Sprintf("Does the best deployment of %s stay the best if what it rests on is off?", r.Scenario)
	}
	return fmt.Sprintf("Does the decision on %s stand if what it rests on is off?", r.Scenario)
}

// answer is how it is, and the input that matters.
func (r *Result) answer() (string, page.Mood) {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Changes {
			return r.Sentences[0] + " " + e.sentence(r), page.Bad
		}
	}
	return r.Sentences[0] + " " + r.Sentences[len(r.Sentences)-1], page.Good
}

func (r *Result) facts() []page.Fact {
	changing := 0
	for i := range r.Effects {
		if r.Effects[i].Changes {
			changing++
		}
	}
	facts := []page.Fact{{Name: r.Metric, Value: page.Number(r.format(r.Base), "base", r.Base), Note: r.Decision},
		{Name: "inputs varied", Value: page.Words(text.Count(len(r.Effects)))},
		{Name: "change the decision", Value: page.Words(text.Count(changing))}}
	if len(r.Effects) > 0 {
		e := &r.Effects[0]
		facts = append(facts, page.Fact{Name: "most of all", Note: e.Name,
			Value: page.Number(r.format(e.Swing), "effects[0].swing", e.Swing)})
	}
	return facts
}

// tornado is the inputs as bars on one scale.
func (r *Result) tornado() *page.Bars {
	b := &page.Bars{Parts: []string{"at the low end", "at the high end"},
		Note: fmt.Sprintf("The bars meet at %s, as it is.", r.format(r.Base))}
	inputs := r.Effects[:min(len(r.Effects), barsMax)]
	low, high := r.span(inputs)
	at := func(x float64) float64 { return (x - low) / (high - low) }
	for i := range inputs {
		e := &inputs[i]
		path := fmt.Sprintf("effects[%d].swing", i)
		row := page.Bar{Label: e.Name, Value: page.Number(r.format(e.Swing), path, e.Swing)}
		for part, end := range []struct {
			input  float64
			answer float64
		}{{e.Low, float64(e.AtLow.Answer)}, {e.High, float64(e.AtHigh.Answer)}} {
			if math.IsNaN(end.answer) || end.answer == r.Base {
				continue
			}
			row.Segments = append(row.Segments, page.Segment{From: at(min(r.Base, end.answer)), Part: part,
				To:    at(max(r.Base, end.answer)),
				Words: fmt.Sprintf("%s %s: %s", e.Name, e.format(end.input), r.format(end.answer))})
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

// span is from the least to the most of the answers, with some room on either side.
func (r *Result) span(inputs []Effect) (low, high float64) {
	low, high = r.Base, r.Base
	for i := range inputs {
		for _, x := range []float64{float64(inputs[i].AtLow.Answer), float64(inputs[i].AtHigh.Answer)} {
			if !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	room := max(0.02*(high-low), 1e-9*math.Abs(r.Base), 1e-12)
	return low - room, high + room
}

// table is the decision table.
func (r *Result) table() *page.Table {
	t := &page.Table{Head: []string{"input", "value", "low", "high", "at low", "at high", "swing", "decision"}}
	for i := range r.Effects {
		e, at := &r.Effects[i], fmt.Sprintf("effects[%d].", i)
		number := func(words, path string, x float64) page.Cell {
			if math.IsNaN(x) {
				return page.Words(text.Dash)
			}
			return page.Number(words, at+path, x)
		}
		decision := page.Words("the same")
		if e.Changes {
			decision = page.Cell{Text: "changes", Mood: page.Bad}
		}
		swing := number(r.format(e.Swing), "swing", e.Swing)
		if !e.significant() {
			swing = page.Words("~")
		}
		t.Rows = append(t.Rows, page.Row{Strong: e.Changes, Cells: []page.Cell{page.Words(e.Name),
			number(e.format(e.Value), "value", e.Value), number(e.format(e.Low), "low", e.Low),
			number(e.format(e.High), "high", e.High),
			number(r.format(float64(e.AtLow.Answer)), "at_low.answer", float64(e.AtLow.Answer)),
			number(r.format(float64(e.AtHigh.Answer)), "at_high.answer", float64(e.AtHigh.Answer)), swing, decision}})
	}
	return t
}

// sources are where the ranges come from.
func (r *Result) sources() *page.Table {
	t := &page.Table{Head: []string{"input", "kind", "source of the range"}, Left: 3}
	for i := range r.Effects {
		e := &r.Effects[i]
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(e.Name), page.Words(string(e.Kind)),
			page.Words(e.Source)}})
	}
	return t
}

// warnings say what this analysis does not show.
func (r *Result) warnings() []string {
	all := []string{"Inputs are varied one at a time: two that are off together may change what neither changes alone."}
	for i := range r.Effects {
		e := &r.Effects[i]
		for _, end := range []*End{&e.AtLow, &e.AtHigh} {
			if math.IsNaN(float64(end.Answer)) {
				all = append(all, e.Name+": "+end.Decision)
			}
		}
	}
	return all
}

// assumed is what the answer rests on besides.
func (r *Result) assumed() page.Section {
	b, err := build.New(r.base)
	if err != nil { // it was built before
		return page.Section{Title: "What this rests on", Lead: err.Error()}
	}
	defer b.Close()
	return pages.Assumed(b)
}
