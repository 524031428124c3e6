package traces

import "fmt"

// Check reads through what Open would replay and describes it, or says what is wrong with it.
func Check(path string, o Options) (Stats, error) {
	o.Unchecked = false
	t, err := Open(path, o)
	if err != nil {
		return Stats{}, err
	}
	return t.stats, t.Close()
}

// scan drains the trace once for its first error and its statistics. Two passes over a file cost less than a run that
// breaks after an hour, and a run never leaves half a result behind.
func (t *Trace) scan() error {
	if err := t.rewind(); err != nil {
		return err
	}
	s := Stats{Format: t.rows.layout.format.name}
	prompts, outputs := int64(0), int64(0)
	for {
		at, w, ok := t.advance()
		if !ok {
			break
		}
		s.Requests, s.DurationS = t.sent, at.Seconds()
		prompts, outputs = prompts+int64(w.prompt), outputs+int64(w.output)
		if t.blocks != nil {
			if err := t.blocks.learn(t.rows.ids, w.prompt); err != nil {
				return t.rows.lines.fail("%s", err)
			}
		}
		s.PromptMax, s.OutputMax = max(s.PromptMax, w.prompt), max(s.OutputMax, w.output)
	}
	if t.err != nil {
		return t.err
	}
	if t.blocks != nil {
		t.blocks.build()
	}
	s.Skipped, t.base = t.rows.skipped, t.rows.base
	if s.Requests == 0 {
		return t.nothing()
	}
	s.PromptMean, s.OutputMean = float64(prompts)/float64(s.Requests), float64(outputs)/float64(s.Requests)
	t.stats = s
	return nil
}

// skipped says how many rows are no requests.
func skipped(rows int64) string {
	if rows == 1 {
		return "1 row skipped"
	}
	return fmt.Sprintf("%d rows skipped", rows)
}

// nothing says why a sound trace replays no request.
func (t *Trace) nothing() error {
	window := ""
	if t.start > 0 || t.end > 0 {
		window = fmt.Sprintf(" from %g s on", t.options.StartS)
		if t.end > 0 {
			window = fmt.Sprintf(" from %g s to %g s", t.options.StartS, t.options.EndS)
		}
	}
	return fmt.Errorf("workloads: %s has no requests%s (%s); accepted: at least one request",
		t.in.name, window, skipped(t.rows.skipped))
}
