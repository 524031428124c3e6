package workloads

import "fmt"

// Pairs are recorded prompt and output lengths that belong together, for an open or closed loop to take in order.
type Pairs struct {
	prompt, output []int32
	skipped        int64
}

// pairsMax bounds the memory of pairs to 1 GiB.
const pairsMax = 1 << 27

// ReadPairs reads the lengths in the file at path: CSV with a header or JSON lines, plain or gzip, with the columns of any
// known trace, whose arrivals it does not look at. They are kept in memory, at 8 bytes each.
func ReadPairs(path string) (*Pairs, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readPairs(in)
}

// NewPairs returns pairs that are written out, each a prompt and an output.
func NewPairs(values [][]int64) (*Pairs, error) {
	p := &Pairs{prompt: make([]int32, len(values)), output: make([]int32, len(values))}
	for i, v := range values {
		if len(v) != 2 || min(v[0], v[1]) < 1 || max(v[0], v[1]) > tokensMax {
			return nil, refuse(fmt.Sprintf("lengths.values[%d]", i), v,
				fmt.Sprintf("two whole numbers from 1 to %d, the tokens of a prompt and of its output", tokensMax))
		}
		p.prompt[i], p.output[i] = int32(v[0]), int32(v[1])
	}
	if len(values) == 0 {
		return nil, refuse("lengths.values", values, "at least one pair, such as [[512, 128]]")
	}
	return p, nil
}

func readPairs(in *input) (*Pairs, error) {
	t, err := openRows(in, lengthFormats(), false)
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
	if p.skipped = t.skipped; len(p.prompt) == 0 {
		return nil, fmt.Errorf("workloads: %s has no requests (%d rows skipped); accepted: at least one request",
			in.name, t.skipped)
	}
	return p, nil
}

// Len returns how many pairs there are.
func (p *Pairs) Len() int { return len(p.prompt) }

// Skipped returns how many rows of failed requests the file has besides.
func (p *Pairs) Skipped() int64 { return p.skipped }

// Means returns the mean prompt and output in tokens.
func (p *Pairs) Means() (prompt, output float64) {
	prompts, outputs := int64(0), int64(0) // at most pairsMax·tokensMax < 2^57
	for i := range p.prompt {
		prompts, outputs = prompts+int64(p.prompt[i]), outputs+int64(p.output[i])
	}
	n := float64(len(p.prompt))
	return float64(prompts) / n, float64(outputs) / n
}

// take keeps the pairs that a source of so many requests uses, and returns how many requests it may send: as many as there
// are pairs if nobody says otherwise. It refuses more requests, or distinct prompts, than there are pairs for.
func (c *Lengths) take(requests int64) (int64, error) {
	if c.Pairs == nil {
		return requests, nil
	}
	field, need, have := "requests", requests, int64(c.Pairs.Len())
	if c.Sharing.DistinctPrompts > 0 {
		field, need = "distinct_prompts", c.Sharing.DistinctPrompts
	}
	switch {
	case c.Repeat:
	case need == 0:
		return have, nil
	case need > have:
		return 0, refuse(field, need, fmt.Sprintf("at most %d, for so many lengths are recorded, or lengths with repeat: true", have))
	}
	if need > 0 && need < have {
		c.Pairs = &Pairs{prompt: c.Pairs.prompt[:need], output: c.Pairs.output[:need]}
	}
	return requests, nil
}
