package text

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbersHaveThreeSignificantDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 14.23: "14.2", 9.996: "10.0", 0.001234: "0.00123", 1234: "1,230", 99.96: "100", 126000: "126,000", 1: "1.00",
		1e300: "1.00e+300", -2e15: "-2.00e+15", -1234567: "-1,230,000", -999: "-999",
	} {
		assert.Equal(t, want, Significant(x))
	}
	assert.Equal(t, Dash, Significant(math.NaN()))
	for x, want := range map[float64]string{0: "0", 50: "50", 0.1: "0.1", 1234.4: "1,234", 14.23: "14.2",
		999999.6: "1,000,000"} {
		assert.Equal(t, want, Short(x))
	}
	assert.Equal(t, "0.011", Rough(0.0112))
	assert.Equal(t, "50 ms", Limit(0.05))
	assert.Equal(t, "14.2 ms", Duration(0.0142))
	assert.Equal(t, "1.00 s", Duration(0.9999))
	assert.Equal(t, "250 µs", Limit(250e-6))
	assert.Equal(t, "989 TFLOP/s", Scaled(989.4e12, "FLOP/s"))
	assert.Equal(t, "12.0", Scaled(12, ""))
	assert.Equal(t, "> 99.9 %", Percent(0.99999))
	assert.Equal(t, "100 %", Percent(1))
}

func TestPartsHaveTheDigitsOfTheirGap(t *testing.T) {
	for _, c := range []struct {
		x    float64
		gap  string
		want string
	}{
		{4.78, "10.0", "4.8"}, {4.78, "9.62", "4.78"}, {4.78, "149", "5"}, {.04, "10.0", "0"}, {.05, "10.0", "0.1"},
		{0, "9.62", "0"}, {12345, "23,400", "12,345"},
	} {
		assert.Equal(t, c.want, AsFine(c.x, c.gap))
	}
}

func TestMoneyHasOneFormat(t *testing.T) {
	for dollars, want := range map[float64]string{
		0: "$0", 0.3731: "$0.373", 0.0012345: "$0.00123", 0.99949: "$0.999", 0.9996: "$1.00", 31.92: "$31.92",
		1234.5:  "$1,234.50",
		1234567: "$1,234,567.00",
	} {
		assert.Equal(t, want, USD(dollars))
	}
	assert.Equal(t, Dash, USD(math.NaN()))
}

func TestCountsAreGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -123: "-123",
		1234567: "1,234,567"} {
		assert.Equal(t, want, Count(n))
	}
	assert.Equal(t, "1 row", Counted(1, "row"))
	assert.Equal(t, "2,000 rows", Counted(int64(2000), "row"))
	assert.Equal(t, "3", Range(3, 3))
	assert.Equal(t, "512–1,023", Range(int32(512), 1023))
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 113: "113th",
		21: "21st"} {
		assert.Equal(t, want, Ordinal(n))
	}
}

func TestSignsSayTheDirection(t *testing.T) {
	assert.Equal(t, "+1.2 %", SignedPercent(1.23))
	assert.Equal(t, "-1,234 %", SignedPercent(-1234))
	assert.Equal(t, "0.0 %", SignedPercent(-0.01))
	assert.Equal(t, "1.2 %", UnsignedPercent(1.23))
	assert.Equal(t, "11 ×", Times(10.9))
	assert.Equal(t, "1.4 ×", Times(1.44))
}
