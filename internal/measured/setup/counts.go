package setup

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Counts are the token counts of many requests, as far as a file tells: all of them, or their mean and perhaps points
// of their distribution.
type Counts struct {
	Each   []float64
	Mean   float64
	Points []Point // from the least to the most; nil: unknown
}

// Point says that a share p of the requests has at most so many tokens.
type Point struct{ P, Tokens float64 }

// law writes the length law that the counts are taken for: every request alike if nothing says otherwise.
func (c *Counts) law() string {
	if len(c.Each) > 0 {
		return c.listed()
	}
	if c.few() {
		return fmt.Sprintf("{distribution: fixed, mean: %.0f}", max(1, math.Round(c.Mean)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{distribution: empirical, mean: %s, quantiles: [", Number(c.Mean))
	for i, q := range c.Points {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{p: %s, tokens: %s}", Number(q.P), Number(q.Tokens))
	}
	return b.String() + "]}"
}

// few reports whether the points do not tell a distribution: there are none, all are equal, or the straight lines
// between them are more than a tenth off the mean, to which the law is scaled.
func (c *Counts) few() bool {
	n := len(c.Points)
	if n < 2 || c.Points[0].Tokens == c.Points[n-1].Tokens {
		return true
	}
	area := 0.0
	for i := 1; i < n; i++ {
		area += float64((c.Points[i].P - c.Points[i-1].P) * (c.Points[i].Tokens + c.Points[i-1].Tokens) / 2)
	}
	return math.Abs(area-c.Mean) > 0.1*c.Mean
}

// listed writes the law of known counts: each value as often as it occurs.
func (c *Counts) listed() string {
	sorted := slices.Sorted(slices.Values(c.Each))
	var values, weights []string
	for i := 0; i < len(sorted); {
		end := i
		for end < len(sorted) && sorted[end] == sorted[i] {
			end++
		}
		values, weights = append(values, Number(sorted[i])), append(weights, strconv.Itoa(end-i))
		i = end
	}
	if len(values) == 1 {
		return fmt.Sprintf("{distribution: fixed, mean: %s}", values[0])
	}
	return fmt.Sprintf("{distribution: empirical, values: [%s], weights: [%s]}", strings.Join(values, ", "),
		strings.Join(weights, ", "))
}

// Average returns the mean.
func (c *Counts) Average() float64 {
	if len(c.Each) == 0 {
		return c.Mean
	}
	sum := 0.0
	for _, x := range c.Each {
		sum += x
	}
	return sum / float64(len(c.Each))
}

// AllEqual reports whether every request is known to have the same count.
func (c *Counts) AllEqual() bool {
	if n := len(c.Points); n > 1 {
		return c.Points[0].Tokens == c.Points[n-1].Tokens
	}
	return len(c.Each) > 0 && slices.Min(c.Each) == slices.Max(c.Each)
}

// Number writes a number as YAML reads it back.
func Number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// RecordedMax is how many requests a scenario lists.
const RecordedMax = 100_000

// RecordedLengths writes the lengths of requests, in the order they were sent, as a line of a workload. It stands in
// place of the length laws and of the number of requests.
func RecordedLengths(lengths [][2]int) string {
	var b strings.Builder
	for i, l := range lengths {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "[%d, %d]", l[0], l[1])
	}
	return "lengths: {values: [" + b.String() + "]}"
}
