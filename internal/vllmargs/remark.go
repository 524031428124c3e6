package vllmargs

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
)

// Remark is a flag that did not become a key, and why.
type Remark struct {
	Flag string // as the user wrote its name; never its value, which may be a secret
	Why  string
}

// idle says that no simulated number depends on a flag.
func (d *draft) idle(g *given, why string) {
	g.remarked = true
	d.idles = append(d.idles, Remark{g.written, why})
}

// differ says that a flag changes what users feel, and is not modelled.
func (d *draft) differ(g *given, why string) {
	g.remarked = true
	d.differing = append(d.differing, Remark{g.written, why})
}

// suggestionsMax bounds for how many unknown flags the nearest known one is looked for, which takes a third of a
// millisecond each. Where there are more, spelling is not what is wrong.
const suggestionsMax = 100

func (d *draft) remarkUnknown(name string) Remark {
	why := fmt.Sprintf("no flag of %s that decodesim knows", d.engine)
	if len(d.unknown) >= suggestionsMax {
		return Remark{clip(name), why}
	}
	if near := d.flags.nearest(name); near != "" {
		why += fmt.Sprintf("; did you mean %s?", near)
	}
	return Remark{clip(name), why}
}

// grouped returns a line for each reason, with the flags that share it, as far as they print.
func grouped(all []Remark) []string {
	var reasons []string
	flags, have := map[string][]string{}, map[Remark]bool{}
	for _, r := range all {
		if flags[r.Why] == nil {
			reasons = append(reasons, r.Why)
		}
		if !have[r] {
			flags[r.Why], have[r] = append(flags[r.Why], r.Flag), true
		}
	}
	lines := make([]string, len(reasons))
	for i, why := range reasons {
		lines[i] = inputs.Escaped(strings.Join(flags[why], " ") + ": " + why)
	}
	return lines
}
