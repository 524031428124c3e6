package small

import (
	_ "embed"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// File is where Outcomes are, in this package.
const File = "outcomes.txt"

//go:embed outcomes.txt
var outcomes string

// Outcomes returns the digest of each scenario that All draws, as the naive twin has it.
func Outcomes() []string { return strings.Fields(outcomes) }

// Outcome is what became of a request.
type Outcome struct {
	Ended       string
	First, Last sim.Time // tokens; 0: none, or it was not completed
	Cached      int32
}

// Digest is four digits of what became of all requests of a scenario, in their order.
func Digest(all []Outcome) string {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, all)
	return fmt.Sprintf("%04x", uint16(h.Sum64()^h.Sum64()>>32))
}
