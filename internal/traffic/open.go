package traffic

import (
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Describe reads the trace at path, of any format that a run reads: recorded lengths without arrivals too.
func Describe(path string, o traces.Options) (*Summary, error) {
	o.Contents = true
	t, err := traces.Open(path, o)
	if err != nil {
		return describeLengths(path, err, o.Reading)
	}
	defer t.Close()
	r := NewRecord(true, t.Contents())
	r.Read(t, 0)
	if err := t.Err(); err != nil {
		return nil, err
	}
	s := r.Summary(inputs.OneLine(path))
	s.Format, s.Skipped, s.Unread = t.Stats().Format, t.Stats().Skipped, t.Unread()
	if began, dated := t.Began(); dated {
		s.setHours(began)
	}
	return s, nil
}

// describeLengths describes a file of recorded lengths. What is none either is refused for the reason that it is no
// trace.
func describeLengths(path string, refused error, reading traces.Reading) (*Summary, error) {
	if !traces.Untimed(path) {
		return nil, refused
	}
	pairs, err := traces.ReadPairs(path, reading)
	if err != nil {
		return nil, err
	}
	r := NewRecord(false, nil)
	for i := range pairs.Prompts {
		r.Add(&sim.Request{Prompt: pairs.Prompts[i], Output: pairs.Outputs[i]})
	}
	s := r.Summary(inputs.OneLine(path))
	s.Format, s.Skipped, s.Unread = "lengths", pairs.Skipped, pairs.Unread
	return s, nil
}
