package traces

import (
	"errors"
	"fmt"

	"github.com/decodesim/decodesim/workloads/lengths"
)

// pairsMax bounds the memory of pairs to 1 GiB.
const pairsMax = 1 << 27

// ReadPairs reads the lengths in the file at path: CSV with a header or JSON lines, plain or gzip, with the columns of
// any known trace, whose arrivals it ignores. They stay in memory, at 8 bytes each. A nil reading hears nothing.
func ReadPairs(path string, reading Reading) (*lengths.Pairs, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.observe(reading, 1)
	return readPairs(in)
}

func readPairs(in *input) (*lengths.Pairs, error) {
	t, err := openRows(in, lengthFormats(), false)
	if err != nil {
		return nil, err
	}
	p, w := &lengths.Pairs{}, row{}
	for {
		ok, err := t.next(&w)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if len(p.Prompts) == pairsMax {
			return nil, t.lines.fail("this is row %d; accepted: at most %d rows", pairsMax+1, pairsMax)
		}
		p.Prompts, p.Outputs = append(p.Prompts, w.prompt), append(p.Outputs, w.output)
	}
	p.Skipped, p.Unread = t.skipped, t.layout.left()
	if t.layout.ids != "" {
		p.Unread = append(p.Unread, t.layout.ids)
	}
	if len(p.Prompts) == 0 {
		return nil, fmt.Errorf("workloads: %s has no requests (%s); accepted: at least one request",
			in.name, skipped(t.skipped))
	}
	return p, nil
}

// Untimed reports whether the file at path has lengths without arrivals.
func Untimed(path string) bool {
	in, err := openInput(path)
	if err != nil {
		return false
	}
	defer in.Close()
	t, err := openRows(in, formats(), false)
	if err == nil {
		return t.layout.format.time == noTime
	}
	twice, two := (*repeated)(nil), (*ambiguous)(nil)
	if errors.As(err, &twice) || errors.As(err, &two) {
		return false
	}
	_, err = openRows(in, lengthFormats(), false)
	return err == nil || errors.As(err, &two) // which ReadPairs says
}
