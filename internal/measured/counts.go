package measured

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// counts are the token counts of many requests, as far as a file tells: all of them, or their mean and perhaps points of
// their distribution.
type counts struct {
	each   []float64
	mean   float64
	points []point // from the least to the most; nil: not told
}

// point says that a share p of the requests has at most so many tokens.
type point struct{ p, tokens float64 }

// law writes the length law that the counts are taken for: every request alike if nothing says otherwise.
func (c *counts) law() string {
	if len(c.each) > 0 {
		return c.listed()
	}
	if c.few() {
		return fmt.Sprintf("{distribution: fixed, mean: %.0f}", max(1, math.Round(c.mean)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{distribution: empirical, mean: %s, quantiles: [", plain(c.mean))
	for i, q := range c.points {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{p: %s, tokens: %s}", plain(q.p), plain(q.tokens))
	}
	return b.String() + "]}"
}

// few reports whether the points do not tell a distribution: there are none, all are equal, or the straight lines between
// them are more than a tenth off the mean, to which the law is scaled.
func (c *counts) few() bool {
	n := len(c.points)
	if n < 2 || c.points[0].tokens == c.points[n-1].tokens {
		return true
	}
	area := 0.0
	for i := 1; i < n; i++ {
		area += (c.points[i].p - c.points[i-1].p) * (c.points[i].tokens + c.points[i-1].tokens) / 2
	}
	return math.Abs(area-c.mean) > 0.1*c.mean
}

// listed writes the law of known counts: each value as often as it occurs.
func (c *counts) listed() string {
	sorted := slices.Sorted(slices.Values(c.each))
	var values, weights []string
	for i := 0; i < len(sorted); {
		end := i
		for end < len(sorted) && sorted[end] == sorted[i] {
			end++
		}
		values, weights = append(values, plain(sorted[i])), append(weights, strconv.Itoa(end-i))
		i = end
	}
	if len(values) == 1 {
		return fmt.Sprintf("{distribution: fixed, mean: %s}", values[0])
	}
	return fmt.Sprintf("{distribution: empirical, values: [%s], weights: [%s]}", strings.Join(values, ", "), strings.Join(weights, ", "))
}

// average returns the mean.
func (c *counts) average() float64 {
	if len(c.each) == 0 {
		return c.mean
	}
	sum := 0.0
	for _, x := range c.each {
		sum += x
	}
	return sum / float64(len(c.each))
}

// equal reports whether every request is known to have the same count.
func (c *counts) equal() bool {
	if n := len(c.points); n > 1 {
		return c.points[0].tokens == c.points[n-1].tokens
	}
	return len(c.each) > 0 && slices.Min(c.each) == slices.Max(c.each)
}

// percentiles are the names tools give to shares, in order.
var percentiles = []struct {
	names []string
	p     float64
}{
	{[]string{"min"}, 0}, {[]string{"p001"}, 0.001}, {[]string{"p0.1"}, 0.001}, {[]string{"p01", "p1"}, 0.01}, {[]string{"p05", "p5"}, 0.05},
	{[]string{"p10"}, 0.1}, {[]string{"p25"}, 0.25}, {[]string{"p50", "median"}, 0.5}, {[]string{"p75"}, 0.75}, {[]string{"p90"}, 0.9},
	{[]string{"p95"}, 0.95}, {[]string{"p99"}, 0.99}, {[]string{"p999", "p99.9"}, 0.999}, {[]string{"max"}, 1},
}

// summarised reads counts of which a file has statistics: the mean under a key, and percentiles beside it or below
// "percentiles".
func summarised(o object, mean string) counts {
	c := counts{mean: o.required(mean, "a mean number of tokens above 0")}
	if !o.has("min", "max") {
		return c
	}
	inner := o.sub("percentiles")
	for _, q := range percentiles {
		for _, name := range q.names {
			x, ok := o.optional(name)
			if !ok {
				x, ok = inner.optional(name)
			}
			if n := len(c.points); ok && x >= 0 && (n == 0 || x >= c.points[n-1].tokens && q.p > c.points[n-1].p) {
				c.points = append(c.points, point{q.p, x})
				break
			}
		}
	}
	if n := len(c.points); n < 2 || c.points[0].p != 0 || c.points[n-1].p != 1 {
		c.points = nil
	}
	return c
}

// plain writes a number as YAML reads it back.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
