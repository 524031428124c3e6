package slo

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Parse reads rules that commas, semicolons, line ends or the word and separate:
//
//	rule      = latency statistic "<=" limit | share "% of requests:" latency "<=" limit { "and" latency "<=" limit }
//	latency   = "ttft" | "ttfo" | "itl" | "tpot" | "e2e" | "queue" | "task"
//	statistic = "p1" … "p99.9" | "mean" | "max"
//	limit     = number ("s" | "ms" | "µs")
//
// Case does not matter, ≤ and < do for <=, us for µs, and the statistic may come first. A request itl is the mean gap
// of one request, which is its TPOT; task is the time of a task of agents, and so of no request. The error quotes the
// rule and says what it could have been.
func Parse(text string) (metrics.Rules, error) {
	var rules metrics.Rules
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		if strings.TrimSpace(one) == "" {
			continue
		}
		more, err := parseRules(one)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", strings.TrimSpace(one), err)
		}
		rules = append(rules, more...)
	}
	if len(rules) == 0 {
		return nil, errors.New("has no rule; expected one such as " + example)
	}
	return rules, nil
}

const example = `"ttft p95 <= 1s" or "90% of requests: ttft <= 500ms and tpot <= 40ms"`

var (
	ofRequests = regexp.MustCompile(`^\s*([0-9.]+)\s*%\s*of\s+(?:all\s+|the\s+)*requests\s*:\s*(.*)$`)
	andWord    = regexp.MustCompile(`\s+and\s+|\s*&+\s*`)
	comparison = regexp.MustCompile(`^([^<=>≤≥]*?)\s*(<=|=<|≤|<)\s*([^<=>≤≥]*)$`)
	limitForm  = regexp.MustCompile(`^([0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)\s*(\S*)$`)
	percentile = regexp.MustCompile(`^p([0-9]+(?:\.[0-9]+)?)$`)
)

// parseRules reads a rule about requests, or rules about distributions with the word and between them.
func parseRules(text string) (metrics.Rules, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	about := ofRequests.FindStringSubmatch(text)
	if about == nil && strings.Contains(text, "%") {
		return nil, errors.New(`expected a share of the requests such as "90% of requests: ttft <= 500ms"`)
	}
	if about == nil {
		var rules metrics.Rules
		for _, part := range andWord.Split(text, -1) {
			t, err := parseTerm(part)
			if err == nil && t.At == metrics.Each {
				err = fmt.Errorf("%s of which statistic? Expected %s p95, say, mean or max; or, in a rule about single "+
					"requests, \"and\" before it", t.Metric, t.Metric)
			}
			if err != nil {
				return nil, err
			}
			rules = append(rules, metrics.Rule{Terms: []metrics.Term{t}})
		}
		return rules, nil
	}
	r, err := parseShare(about[1], about[2])
	return metrics.Rules{r}, err
}

// parseShare reads a rule about requests: how many of them, and what they must keep.
func parseShare(percent, terms string) (r metrics.Rule, err error) {
	share, err := strconv.ParseFloat(percent, 64)
	if err != nil || !(share >= 1 && share <= 100) {
		return r, fmt.Errorf("%s%% of requests is out of range; expected 1%% to 100%%", percent)
	}
	r.Share = math.Round(share*1e7) / 1e9 // 0.011, and not 0.011000000000000001
	for _, part := range andWord.Split(terms, -1) {
		t, err := parseTerm(part)
		switch {
		case err != nil:
			return r, err
		case t.At != metrics.Each:
			return r, fmt.Errorf("%s %s is of all requests; expected %s of a single one, without %s", t.Metric, t.At,
				t.Metric, t.At)
		case t.Metric == metrics.RuleTask:
			return r, fmt.Errorf("task is of several requests; expected a rule of its own, such as \"task p%s <= %s\"",
				percent, strings.TrimSpace(part[strings.LastIndexAny(part, "<=≤")+1:]))
		case t.Metric == metrics.RuleITL:
			return r, errors.New("itl is pooled over the gaps of all requests; expected tpot, the mean gap of a single one")
		}
		r.Terms = append(r.Terms, t)
	}
	return r, nil
}

// parseTerm reads a latency and its limit.
func parseTerm(text string) (t metrics.Term, err error) {
	m := comparison.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return t, fmt.Errorf("expected a latency, <= and a limit, such as %s", example)
	}
	t.Below = m[2] == "<"
	t.Metric, t.At, err = parseLatency(m[1])
	if err == nil {
		t.Limit, err = parseLimit(strings.TrimSpace(m[3]))
	}
	return t, err
}

// names are the latencies by what they are called in rules.
func names() []string { return []string{"ttft", "ttfo", "itl", "tpot", "e2e", "queue", "task"} }

// nearest are the same names for who misspells one: of two that are as near the later one is meant, so that ttfb is
// taken for ttft.
func nearest() []string { return []string{"ttfo", "ttft", "itl", "tpot", "e2e", "queue", "task"} }

// parseLatency reads the name of a latency, with a statistic before or behind it.
func parseLatency(text string) (metric metrics.Metric, at metrics.Statistic, err error) {
	var words []string
	for _, word := range strings.Fields(strings.NewReplacer("_", " ", "-", " ").Replace(text)) {
		s, ok, err := parseStatistic(word)
		switch {
		case err != nil:
			return 0, 0, err
		case ok && at != metrics.Each:
			return 0, 0, fmt.Errorf("%s beside %s; expected one statistic", word, at)
		case ok:
			at = s
		default:
			words = append(words, word)
		}
	}
	name := strings.Join(words, " ")
	if name == "request itl" {
		name = "tpot"
	}
	for m := range metrics.NumRuleMetrics {
		if name == m.String() {
			return m, at, nil
		}
	}
	if name == "" {
		return 0, 0, fmt.Errorf("names no latency; valid latencies: %s", strict.Quoted(names()))
	}
	return 0, 0, errors.New(strict.UnknownName("latency", name, nearest()))
}

// parseStatistic reads a percentile, mean or max; false: the word is none of them.
func parseStatistic(word string) (at metrics.Statistic, ok bool, err error) {
	switch word {
	case "mean":
		return metrics.Mean, true, nil
	case "max":
		return metrics.Max, true, nil
	case "median":
		return 50, true, nil
	}
	m := percentile.FindStringSubmatch(word)
	if m == nil {
		return 0, false, nil
	}
	p, err := strconv.ParseFloat(m[1], 64)
	if err != nil || !(p >= 1 && p <= 99.9) {
		return 0, false, fmt.Errorf("%s is out of range; expected p1 to p99.9, mean or max", word)
	}
	return metrics.Statistic(p), true, nil
}

// limitMaxS is the longest limit, as slo.ttft_ms has it.
const limitMaxS = 1e6

// parseLimit reads a time with its unit.
func parseLimit(text string) (sim.Duration, error) {
	m := limitForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not a time; expected a number and a unit, such as 500ms or 1s", text)
	}
	x, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time; expected a number and a unit, such as 500ms or 1s", text)
	}
	switch m[2] {
	case "s":
	case "ms":
		x /= 1e3
	case "us", "µs", "μs":
		x /= 1e6
	case "":
		return 0, fmt.Errorf("%s has no unit; expected s, ms or µs, such as %sms", m[1], m[1])
	default:
		return 0, fmt.Errorf("%q is not a unit of time; expected s, ms or µs", m[2])
	}
	if !(x > 0 && x <= limitMaxS) {
		return 0, fmt.Errorf("%s is out of range; expected a time above 0 and at most %gs", text, float64(limitMaxS))
	}
	return max(1, sim.Seconds(x)), nil
}
