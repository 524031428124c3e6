package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// exponentFrom is a number that no result of a run reaches, and that no column has room for.
const exponentFrom = 1e15

// Dash stands where nothing was measured.
const Dash = "–"

// Significant prints x with three significant digits and thousands separators, below 10¹⁵ without an exponent. NaN,
// which says that nothing was measured, is a dash.
func Significant(x float64) string {
	switch {
	case math.IsNaN(x):
		return Dash
	case x == 0 || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case math.Abs(x) >= exponentFrom:
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	rounded := roundTo(3, x)
	return grouped(strconv.FormatFloat(rounded, 'f', max(0, 2-decade(rounded)), 64))
}

// Short prints x with three significant digits and without trailing zeros, and from 1,000 on as a whole number: for
// limits, sizes and axis labels, which are exact.
func Short(x float64) string {
	if math.Abs(x) >= 1000 {
		return grouped(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return strconv.FormatFloat(roundTo(3, x), 'f', -1, 64)
}

// Rough prints x with two significant digits: the width of an interval is known no better.
func Rough(x float64) string {
	rounded := roundTo(2, x)
	return grouped(strconv.FormatFloat(rounded, 'f', max(0, 1-decade(rounded)), 64))
}

// AsFine prints x with as many decimals as another number is printed with, so that parts add up to their sum. What
// rounds to nothing is a plain 0.
func AsFine(x float64, other string) string {
	_, decimals, _ := strings.Cut(other, ".")
	if math.Abs(x)*math.Pow10(len(decimals)) < 0.5 {
		return "0"
	}
	return grouped(strconv.FormatFloat(x, 'f', len(decimals), 64))
}

// roundTo rounds x to so many significant digits.
func roundTo(digits int, x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	return rounded
}

// decade returns the power of ten of the leading digit of x, which is not 0.
func decade(x float64) int { return int(math.Floor(math.Log10(math.Abs(x)))) }

// grouped puts commas between the thousands of a number that is printed without an exponent.
func grouped(number string) string {
	whole, _, _ := strings.Cut(number, ".")
	first := strings.IndexAny(whole, "0123456789")
	for i := len(whole) - 3; i > first && first >= 0; i -= 3 {
		number = number[:i] + "," + number[i:]
	}
	return number
}

// integer is what can be counted.
type integer interface{ ~int | ~int32 | ~int64 }

// Count prints a whole number with thousands separators: 5,000.
func Count[N integer](n N) string { return grouped(strconv.FormatInt(int64(n), 10)) }

// Counted prints how many of a thing there are: 1 row, 2,000 rows.
func Counted[N integer](n N, noun string) string { return Count(n) + " " + Plural(noun, n) }

// Plural returns a noun as it stands behind the number n.
func Plural[N integer](noun string, n N) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// Ordinal prints a place in an order: 1st, 22nd, 113th.
func Ordinal[N integer](n N) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return Count(n) + suffix
}

// Range prints the numbers from first to last: 3, or 4–7.
func Range[N integer](first, last N) string {
	if first == last {
		return Count(first)
	}
	return Count(first) + "–" + Count(last)
}

// USD prints an amount of money: $1,234.50, and below one dollar with three significant digits, $0.373.
func USD(dollars float64) string {
	switch size := math.Abs(dollars); {
	case math.IsNaN(dollars):
		return Dash
	case size >= 0.9995:
		return "$" + grouped(strconv.FormatFloat(dollars, 'f', 2, 64))
	}
	return "$" + Significant(dollars)
}

// Percent prints a share with three significant digits. What is less than all never reads 100 %.
func Percent(share float64) string {
	digits := Significant(100 * share)
	if share < 1 && digits == "100" {
		return "> 99.9 %"
	}
	return digits + " %"
}

// WholePercent prints a share of a sentence: 71 %.
func WholePercent(share float64) string {
	return strconv.FormatFloat(100*share, 'f', 0, 64) + " %"
}

// SignedPercent prints an error or a difference of so many percent, with its direction: +1.2 %.
func SignedPercent(percent float64) string {
	if math.IsNaN(percent) {
		return Dash
	}
	decimals := 1
	if math.Abs(percent) >= 99.95 {
		decimals = 0
	}
	digits := strconv.FormatFloat(percent, 'f', decimals, 64)
	if digits == "-0.0" {
		digits = "0.0"
	}
	if percent > 0 {
		digits = "+" + digits
	}
	return grouped(digits) + " %"
}

// UnsignedPercent prints the size of an error of so many percent: 1.2 %. A negative one keeps its sign.
func UnsignedPercent(percent float64) string { return strings.TrimPrefix(SignedPercent(percent), "+") }

// Times prints a factor: 11 ×, or 1.4 ×.
func Times(factor float64) string {
	if factor >= 9.95 {
		return grouped(fmt.Sprintf("%.0f", factor)) + " ×"
	}
	return fmt.Sprintf("%.1f ×", factor)
}
