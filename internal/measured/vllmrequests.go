package measured

import (
	"fmt"
	"math"
	"strconv"
)

// vllmLengths takes the lengths of the requests that got an answer, where the file lists them, and returns the place of
// each in the lists.
func vllmLengths(o object, a *asked) (of []int) {
	prompts, outputs := o.numbers("input_lens"), o.numbers("output_lens")
	if len(prompts) == 0 || len(outputs) == 0 {
		return nil
	}
	if len(prompts) != len(outputs) {
		o.fail("output_lens", len(outputs), "as many as input_lens, "+strconv.Itoa(len(prompts)))
		return nil
	}
	for i := range prompts {
		if outputs[i] < 1 || prompts[i] < 1 {
			continue
		}
		a.prompt.each, a.output.each = append(a.prompt.each, prompts[i]), append(a.output.each, outputs[i])
		a.lengths = append(a.lengths, [2]int{o.tokens("input_lens", i, prompts[i]), o.tokens("output_lens", i, outputs[i])})
		of = append(of, i)
	}
	if len(of) > recordedMax {
		a.lengths = nil
		return nil
	}
	if len(of) > 0 {
		a.requests = len(of)
	}
	return of
}

// tokens is the i-th number of a list as a token count.
func (o object) tokens(key string, i int, x float64) int {
	if x != math.Trunc(x) || x > 1e9 {
		o.fail(fmt.Sprintf("%s[%d]", key, i), x, "a whole number of tokens up to 1e9")
		return 1
	}
	return int(x)
}

// vllmRequests are the rows of the requests at those places in the lists, where the file has their times in seconds: the
// time to the first token, and the sum of the gaps after it over the tokens they brought. A rate sends requests at random
// instants, which the file does not tell: what one of them saw is not what another at its place in the order sees.
func vllmRequests(o object, id string, a *asked, of []int) []Row {
	ttfts, itls := o.numbers("ttfts"), o.gapSums("itls")
	if len(of) == 0 || len(ttfts) <= of[len(of)-1] {
		return nil
	}
	why := ""
	if a.rate > 0 {
		why = "the instants at which a rate sent the requests are not in the file"
	}
	rows := make([]Row, len(of))
	for k, i := range of {
		rows[k] = Row{ID: fmt.Sprintf("%s#%d", id, i), Request: k}
		add := func(m Metric, ms float64) {
			v := Lead(m, Mean, ms)
			v.Skip = why
			rows[k].Values = append(rows[k].Values, v)
		}
		if ttfts[i] > 0 {
			add(TTFT, 1000*ttfts[i])
		}
		if n := a.lengths[k][1]; i < len(itls) && itls[i] > 0 && n > 1 {
			add(TPOT, 1000*itls[i]/float64(n-1))
		}
	}
	return rows
}

// gapSums adds up each of the lists in a list.
func (o object) gapSums(key string) []float64 {
	lists, _ := o.fields[key].([]any)
	sums := make([]float64, len(lists))
	for i, l := range lists {
		gaps, _ := l.([]any)
		for j, value := range gaps {
			gap, ok := numberOf(value)
			if !ok {
				o.fail(fmt.Sprintf("%s[%d][%d]", key, i, j), value, "seconds")
				return nil
			}
			sums[i] += gap
		}
	}
	return sums
}
