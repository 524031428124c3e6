package text

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestInstantsAreReadOffAClock(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0:00", 9.96: "0:10", 5.5: "0:05.5", 310: "5:10", 3599: "59:59", 3910: "1:05:10", 90061.2: "25:01:01.2",
	} {
		assert.Equal(t, want, Clock(s))
	}
}

func TestSpansAreSaidAsPeopleDo(t *testing.T) {
	for s, want := range map[float64]string{
		0.5: "0.5 s", 45: "45 s", 99: "99 s", 100: "2 min", 660: "11 min", 5900: "98 min", 10800: "3 h", 9000: "2.5 h",
	} {
		assert.Equal(t, want, Lasting(s))
	}
}
