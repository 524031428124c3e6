package workloads

import (
	"fmt"
	"io"
)

// Pairs are recorded prompt and output lengths that belong together.
type Pairs struct{ prompt, output []int32 }

// pairsMax bounds the memory of pairs to 1 GiB.
const pairsMax = 1 << 27

// ReadPairs reads the lengths of a trace in any of the known formats, with or without arrivals, for an open or closed
// loop to draw from. They are kept in memory, at 8 bytes each.
func ReadPairs(path string) (*Pairs, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readPairs(in)
}

// NewPairs is ReadPairs for a text that is not a file of its own; name stands for it in errors.
func NewPairs(name string, r io.ReadSeeker) (*Pairs, error) {
	return readPairs(&input{name: name, file: r})
}

func readPairs(in *input) (*Pairs, error) {
	t, err := openRows(in, false)
	if err != nil {
		return nil, err
	}
	p, w := &Pairs{}, row{}
	for {
		ok, err := t.next(&w)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if len(p.prompt) == pairsMax {
			return nil, t.lines.fail("this is row %d; accepted: at most %d rows", pairsMax+1, pairsMax)
		}
		p.prompt, p.output = append(p.prompt, w.prompt), append(p.output, w.output)
	}
	if len(p.prompt) == 0 {
		return nil, fmt.Errorf("workloads: %s has no requests (%d rows skipped); accepted: at least one request",
			in.name, t.skipped)
	}
	return p, nil
}

// Len returns how many pairs there are.
func (p *Pairs) Len() int { return len(p.prompt) }

// Means returns the mean prompt and output in tokens.
func (p *Pairs) Means() (prompt, output float64) {
	for i := range p.prompt {
		prompt += float64(p.prompt[i])
		output += float64(p.output[i])
	}
	n := float64(len(p.prompt))
	return prompt / n, output / n
}
