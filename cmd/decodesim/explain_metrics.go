package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// explainMetrics prints what each benchmark tool says of one request: of the example, or of one that a scenario's run
// traced.
func explainMetrics(c *cobra.Command, args []string, f *explainFlags, out, errOut io.Writer) error {
	for _, name := range []string{"model", "gpu", "weights", "kv-cache", "tensor-parallel", "pipeline-parallel", "engine",
		"batch", "context", "out"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf(
				"explain: --%s is of a step, and --metrics explains a request; expected a SCENARIO, --set, --json or none of them",
				name)
		}
	}
	record, heading := views.Example(), "the example: one request on which the tools disagree"
	if len(args) == 1 {
		var err error
		record, heading, err = tracedRequest(c, args[0], f, errOut)
		if err != nil {
			return err
		}
	} else if len(f.set) > 0 {
		return errors.New("explain: --set needs a SCENARIO; the example has none")
	}
	var text bytes.Buffer
	err := report.Definitions(&text, &record, heading, report.Options{Colour: colour(out)})
	if f.json {
		text.Reset()
		err = explain.WriteDefinitions(&text, &record, heading)
	}
	if err == nil {
		_, err = out.Write(text.Bytes())
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// tracedRequest simulates a scenario and returns the traced request of median latency among those with several tokens.
func tracedRequest(c *cobra.Command, scenario string, f *explainFlags, errOut io.Writer) (r views.Record,
	heading string, err error) {
	s, err := configs.Load(scenario, configs.Options{Set: f.set, Env: os.Environ()})
	if err != nil {
		return r, "", err
	}
	b, err := build.New(s)
	if err != nil {
		return r, "", err
	}
	defer b.Close()
	ran, err := simulate(c.Context(), b, errOut, run.Options{Sample: true})
	if err != nil {
		return r, "", err
	}
	r, of, ok := explain.MedianRecord(ran.Sample.Records())
	if !ok {
		return r, "", failed(errors.New("no traced request completed with more than one chunk; nothing to explain"))
	}
	return r, fmt.Sprintf("%s · seed %d · request %d, of median latency among %d traced", s.Name, s.Seed, r.ID, of), nil
}
