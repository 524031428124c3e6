package measured

import (
	"fmt"
	"strings"
)

// recordedMax is how many requests a scenario lists.
const recordedMax = 100_000

// recorded writes the lengths of requests, in the order they were sent, as a line of a workload. It stands in place of the
// length laws and of the number of requests.
func recorded(lengths [][2]int) string {
	var b strings.Builder
	for i, l := range lengths {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "[%d, %d]", l[0], l[1])
	}
	return "lengths: {values: [" + b.String() + "]}"
}
