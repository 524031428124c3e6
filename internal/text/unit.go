package text

import (
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
