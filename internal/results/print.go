package results

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
)

// Result is a run that has ended.
type Result struct {
	*run.Result
	Viewed *report.Viewed // nil without views
}

// Print writes a run as a table or as JSON, in the terms of tools where the result has them.
func Print(w io.Writer, b *build.Built, r *Result, asJSON, colour bool) error {
	o := report.Options{Colour: colour, Chunks: chunkLimit(b)}
	switch {
	case r.Viewed != nil && asJSON:
		return WriteJSON(w, r.Summary, r.Viewed)
	case r.Viewed != nil:
		return printViews(w, b, r, o)
	case asJSON:
		return text.WriteJSON(w, r.Summary)
	}
	return table(w, b, r, o)
}

// chunkLimit says in the engine's own words what bounds the prompt tokens of a step; empty: nothing does, or not the
// same in every pool.
func chunkLimit(b *build.Built) string {
	p := &b.Scenario.Pools[0]
	if !p.EnableChunkedPrefill || len(b.Scenario.Pools) > 1 {
		return ""
	}
	return fmt.Sprintf("%s %s", p.Own("max_num_batched_tokens"), text.Count(p.MaxNumBatchedTokens))
}

// table writes the report's table with the scenario between its heading and its figures.
func table(w io.Writer, b *build.Built, r *Result, o report.Options) error {
	var said bytes.Buffer
	if err := report.Table(&said, r.Summary, report.CaptionOf(r.Summary, b.Deployment.Model.Name), o); err != nil {
		return err
	}
	heading, rest, _ := strings.Cut(said.String(), "\n\n")
	_, err := io.WriteString(w, heading+"\n"+describe.Head(b)+"\n"+rest)
	return err
}

// printViews writes the run in the terms of the chosen tools.
func printViews(w io.Writer, b *build.Built, r *Result, o report.Options) error {
	if err := report.Views(w, r.Viewed, report.CaptionOf(r.Summary, b.Deployment.Model.Name), o); err != nil {
		return err
	}
	for _, warning := range r.Summary.Warnings {
		fmt.Fprintln(w, "warning: "+warning)
	}
	return nil
}
