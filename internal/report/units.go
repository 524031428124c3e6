package report

import (
	"math"
	"strconv"
)

// exponentFrom is a number that no result of a run reaches, and that no column has room for.
const exponentFrom = 1e15

// Significant prints x with three significant digits, below 10¹⁵ without an exponent; NaN, which says that nothing was
// measured, is a dash.
func Significant(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	if x == 0 || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	if math.Abs(x) >= exponentFrom {
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(rounded, 'f', max(0, decimals), 64)
}

// tidy prints x with three significant digits, less trailing zeros: for limits and axis labels, which are exact.
func Tidy(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// A unit is a name and its size in base units.
type unit struct {
	name string
	size float64
}

// timeUnit returns the unit in which a time of s seconds reads best.
func timeUnit(s float64) unit {
	switch s = math.Abs(s); {
	case s >= 0.9995 || math.IsNaN(s):
		return unit{"s", 1}
	case s >= 0.9995e-3 || s == 0:
		return unit{"ms", 1e-3}
	case s >= 0.9995e-6:
		return unit{"µs", 1e-6}
	}
	return unit{"ns", 1e-9}
}

// clockUnit returns the unit of an axis that ends at s seconds of simulated time.
func clockUnit(s float64) unit {
	switch {
	case s > 3*86400:
		return unit{"days", 86400}
	case s > 3*3600:
		return unit{"h", 3600}
	case s > 600:
		return unit{"min", 60}
	}
	return timeUnit(s)
}

// countUnit returns the prefix for a large count or rate of x.
func countUnit(x float64) unit {
	units := []unit{{"E", 1e18}, {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}
	for _, u := range units {
		if x >= 0.9995*u.size {
			return u
		}
	}
	return unit{"", 1}
}

// duration prints a time with its unit: 14.2 ms.
func Duration(s float64) string {
	u := timeUnit(s)
	return Significant(s/u.size) + " " + u.name
}

// limit prints a time that somebody chose: 50 ms, not 50.0 ms.
func limit(s float64) string {
	u := timeUnit(s)
	return Tidy(s/u.size) + " " + u.name
}

// scaled prints a rate with a prefix before its unit: 989 TFLOP/s.
func scaled(x float64, base string) string {
	u := countUnit(x)
	return Significant(x/u.size) + " " + u.name + base
}

// percent prints a share with three significant digits. What is less than all never reads 100 %.
func percent(share float64) string {
	text := Significant(100 * share)
	if share < 1 && text == "100" {
		return "> 99.9 %"
	}
	return text + " %"
}

// wholePercent prints a share of a sentence: 71 %.
func wholePercent(share float64) string {
	return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
}
