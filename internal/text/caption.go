package text

import (
	"fmt"
	"strings"
)

// Caption names the run on everything that shows it.
type Caption struct {
	Scenario string
	Model    string  // catalog name; empty: not said
	Hardware string  // such as "8 × h100-sxm"; empty: not said
	Seed     *uint64 // nil: nothing random is shown
}

func (c Caption) String() string {
	var parts []string
	for _, part := range []string{c.Scenario, c.Model, c.Hardware} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if c.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed %d", *c.Seed))
	}
	return strings.Join(parts, " · ")
}
