package traces

import (
	"math"
	"strconv"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
)

// instant is a time of a trace as it is written there: seconds since the trace's own origin, which may be 1970, and
// picoseconds. It is kept apart from sim.Time, whose range does not reach from 1970 to today.
type instant struct{ s, ps int64 }

func (t instant) before(u instant) bool { return t.s < u.s || t.s == u.s && t.ps < u.ps }

// since returns t − u; false where that is negative or beyond the clock.
func (t instant) since(u instant) (sim.Duration, bool) {
	if s := t.s - u.s; !t.before(u) && s <= sim.HorizonS {
		return sim.Duration(s)*sim.Second + sim.Duration(t.ps-u.ps), true
	}
	return 0, false
}

// secondsMax keeps instants of any unit far inside int64.
const secondsMax = 1e15

// parseCount reads a whole number; a fraction of zeros, as some writers leave it, is accepted.
func parseCount(b []byte) (int64, bool) {
	n, i := int64(0), 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		n = n*10 + int64(b[i]-'0')
		if n > check.TokensMax {
			return 0, false
		}
	}
	if i == 0 {
		return 0, false
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i] == '0'; i++ {
		}
	}
	return n, i == len(b)
}

// parseSeconds reads a plain decimal number of seconds, exactly to the picosecond; digits beyond are dropped.
func parseSeconds(b []byte) (instant, bool) {
	whole, frac, ok := parseDecimal(b)
	if !ok {
		return parseFloat(b, 1)
	}
	return instant{whole, frac}, true
}

// parseMilliseconds is parseSeconds for a number of milliseconds.
func parseMilliseconds(b []byte) (instant, bool) {
	whole, frac, ok := parseDecimal(b)
	if !ok {
		return parseFloat(b, 1e-3)
	}
	return instant{whole / 1000, whole%1000*1e9 + frac/1000}, true
}

// parseDecimal splits a plain decimal number into its whole part and 10^−12ths.
func parseDecimal(b []byte) (whole, frac int64, ok bool) {
	i := 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		whole = whole*10 + int64(b[i]-'0')
		if whole > secondsMax {
			return 0, 0, false
		}
	}
	if i == len(b) {
		return whole, 0, i > 0
	}
	if b[i] != '.' || len(b) == 1 {
		return 0, 0, false
	}
	frac, n := parseFraction(b[i+1:])
	return whole, frac, i+1+n == len(b)
}

// parseFraction reads decimal digits after the point as 10^−12ths and returns how many there are.
func parseFraction(b []byte) (frac int64, n int) {
	unit := int64(1e11)
	for n < len(b) && b[n]-'0' <= 9 {
		frac += unit * int64(b[n]-'0')
		unit /= 10
		n++
	}
	return frac, n
}

// parseFloat reads what is not a plain decimal number, such as 1.5e-05.
func parseFloat(b []byte, unit float64) (instant, bool) {
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return instant{}, false
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	f = float64(f * unit)
	if err != nil || !(f >= 0 && f <= secondsMax) {
		return instant{}, false
	}
	whole := math.Floor(f)
	return instant{int64(whole), min(1e12-1, int64(math.Round((f-whole)*1e12)))}, true
}

// parseDate reads YYYY-MM-DD hh:mm:ss with an optional fraction and an optional offset from UTC (Z or ±hh:mm).
func parseDate(b []byte) (instant, bool) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != ' ' && b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return instant{}, false
	}
	year, ok1 := digits(b[:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	clock, ok4 := parseClock(b[11:19])
	if !(ok1 && ok2 && ok3 && ok4) || month < 1 || month > 12 || day < 1 || day > monthDays(year, month) {
		return instant{}, false
	}
	t := instant{s: dayNumber(year, month, day)*86400 + clock}
	rest := b[19:]
	if len(rest) > 1 && rest[0] == '.' {
		frac, n := parseFraction(rest[1:])
		t.ps, rest = frac, rest[1+n:]
	}
	offset, ok := parseOffset(rest)
	t.s -= offset
	return t, ok
}

// parseClock reads hh:mm:ss as seconds.
func parseClock(b []byte) (int64, bool) {
	h, ok1 := digits(b[:2])
	m, ok2 := digits(b[3:5])
	s, ok3 := digits(b[6:8])
	return h*3600 + m*60 + s, ok1 && ok2 && ok3 && h < 24 && m < 60 && s < 60
}

// parseOffset reads the seconds by which a local time is ahead of UTC.
func parseOffset(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) == 1 && b[0] == 'Z' {
		return 0, true
	}
	if len(b) != 6 || b[3] != ':' || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	h, ok1 := digits(b[1:3])
	m, ok2 := digits(b[4:6])
	s := h*3600 + m*60
	if b[0] == '-' {
		s = -s
	}
	return s, ok1 && ok2 && h < 24 && m < 60
}

func digits(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// dayNumber counts the days of the Gregorian calendar from 1970-01-01, negative before. Years are taken to begin in
// March, so that the leap day is the last of its year.
func dayNumber(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	march := (153*(month-3) + 2) / 5 // days from 1 March to the first of the month
	return 365*year + floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400) + march + day - 1 - 719468
}

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}

func monthDays(year, month int64) int64 {
	switch {
	case month == 2 && (year%4 != 0 || year%100 == 0 && year%400 != 0):
		return 28
	case month == 2:
		return 29
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}
