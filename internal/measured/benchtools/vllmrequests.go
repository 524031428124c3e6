package benchtools

import (
	"fmt"
	"math"
	"strconv"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// vllmLengths takes the lengths of the requests that got an answer, where the file lists them, and returns the place of
// each in the lists.
func vllmLengths(o datafile.Object, a *setup.Load) (of []int) {
	prompts, outputs := o.Numbers("input_lens"), o.Numbers("output_lens")
	if len(prompts) == 0 || len(outputs) == 0 {
		return nil
	}
	if len(prompts) != len(outputs) {
		o.Fail("output_lens", len(outputs), "the number of input_lens, "+strconv.Itoa(len(prompts)))
		return nil
	}
	for i := range prompts {
		if outputs[i] < 1 || prompts[i] < 1 {
			continue
		}
		a.Prompt.Each, a.Output.Each = append(a.Prompt.Each, prompts[i]), append(a.Output.Each, outputs[i])
		a.Lengths = append(a.Lengths, [2]int{tokensAt(o, "input_lens", i, prompts[i]),
			tokensAt(o, "output_lens", i, outputs[i])})
		of = append(of, i)
	}
	if len(of) > setup.RecordedMax {
		a.Lengths = nil
		return nil
	}
	if len(of) > 0 {
		a.Requests = len(of)
	}
	return of
}

// tokensAt is the i-th number of a list as a token count.
func tokensAt(o datafile.Object, key string, i int, x float64) int {
	if x != math.Trunc(x) || x > 1e9 {
		o.Fail(fmt.Sprintf("%s[%d]", key, i), x, "a whole number of tokens up to 1e9")
		return 1
	}
	return int(x)
}

// vllmRequests are the rows of the requests at those places in the lists, where the file has their times in seconds:
// the time to the first token, and the sum of the gaps after it over the tokens they brought. A rate sends requests at
// random instants, which the file does not tell: what one of them saw is not what another at its place in the order
// sees.
func vllmRequests(o datafile.Object, id string, a *setup.Load, of []int) []measured.Row {
	ttfts, itls := o.Numbers("ttfts"), gapSums(o, "itls")
	if len(of) == 0 || len(ttfts) <= of[len(of)-1] {
		return nil
	}
	why := ""
	if a.Rate > 0 {
		why = "the instants at which a rate sent the requests are not in the file"
	}
	rows := make([]measured.Row, len(of))
	for k, i := range of {
		rows[k] = measured.Row{ID: fmt.Sprintf("%s#%d", id, i), Request: k}
		add := func(m measured.Metric, ms float64) {
			v := measured.Lead(m, measured.Mean, ms)
			v.Skip = why
			rows[k].Values = append(rows[k].Values, v)
		}
		if ttfts[i] > 0 {
			add(measured.TTFT, 1000*ttfts[i])
		}
		if n := a.Lengths[k][1]; i < len(itls) && itls[i] > 0 && n > 1 {
			add(measured.TPOT, 1000*itls[i]/float64(n-1))
		}
	}
	return rows
}

// gapSums adds up each of the lists in a list.
func gapSums(o datafile.Object, key string) []float64 {
	lists := o.NumberLists(key, "seconds")
	sums := make([]float64, len(lists))
	for i, gaps := range lists {
		for _, gap := range gaps {
			sums[i] += gap
		}
	}
	return sums
}
