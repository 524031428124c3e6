package text

import (
	"fmt"
	"math"
	"strings"
)

// A Unit is a name and its size in base units.
type Unit struct {
	Name string
	Size float64
}

// TimeUnit returns the unit in which a time of s seconds reads best.
func TimeUnit(s float64) Unit {
	s = math.Abs(s)
	switch {
	case s >= 0.9995 || math.IsNaN(s):
		return Unit{"s", 1}
	case s >= 0.9995e-3 || s == 0:
		return Unit{"ms", 1e-3}
	case s >= 0.9995e-6:
		return Unit{"µs", 1e-6}
	}
	return Unit{"ns", 1e-9}
}

// ClockUnit returns the unit of an axis that ends at s seconds of simulated time.
func ClockUnit(s float64) Unit {
	switch {
	case s > 3*86400:
		return Unit{"days", 86400}
	case s > 3*3600:
		return Unit{"h", 3600}
	case s > 600:
		return Unit{"min", 60}
	}
	return TimeUnit(s)
}

// CountUnit returns the decimal prefix for a large count or rate of x.
func CountUnit(x float64) Unit {
	units := []Unit{{"E", 1e18}, {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}
	for _, u := range units {
		if x >= 0.9995*u.Size {
			return u
		}
	}
	return Unit{"", 1}
}

// Duration prints a time of s seconds with its unit: 14.2 ms.
func Duration(s float64) string {
	if math.IsNaN(s) {
		return Dash
	}
	u := TimeUnit(s)
	return Significant(s/u.Size) + " " + u.Name
}

// Limit prints a time that somebody chose: 50 ms, not 50.0 ms.
func Limit(s float64) string {
	u := TimeUnit(s)
	return Short(s/u.Size) + " " + u.Name
}

// Scaled prints a count or a rate with a prefix before its unit: 989 TFLOP/s. The unit may be empty.
func Scaled(x float64, base string) string {
	u := CountUnit(x)
	return strings.TrimRight(Significant(x/u.Size)+" "+u.Name+base, " ")
}

// Clock prints an instant of a run as a clock: 5:10 for 310 s, 1:05:10 from an hour on. Tenths are printed where there
// are any.
func Clock(s float64) string {
	tenths := int64(math.Round(10 * s))
	part := ""
	if tenths%10 != 0 {
		part = fmt.Sprintf(".%d", tenths%10)
	}
	whole := tenths / 10
	if whole >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d%s", whole/3600, whole/60%60, whole%60, part)
	}
	return fmt.Sprintf("%d:%02d%s", whole/60, whole%60, part)
}

// Lasting prints how long something took in the unit in which people say it: 45 s, 11 min, 3 h.
func Lasting(s float64) string {
	switch {
	case s < 99.5:
		return Short(s) + " s"
	case s < 99.5*60:
		return Short(math.Round(s/60)) + " min"
	}
	return Short(s/3600) + " h"
}
