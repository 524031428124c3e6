package vllmargs

import (
	"fmt"
	"slices"
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

func (d *draft) remarkUnknown(name string) Remark {
	why := fmt.Sprintf("no flag of %s that decodesim knows", d.engine)
	if near := d.flags.nearest(name); near != "" {
		why += fmt.Sprintf("; did you mean %s?", near)
	}
	return Remark{clip(name), why}
}

// grouped returns a line for each reason, with the flags that share it, as far as they print.
func grouped(all []Remark) []string {
	var reasons []string
	flags := map[string][]string{}
	for _, r := range all {
		if !slices.Contains(reasons, r.Why) {
			reasons = append(reasons, r.Why)
		}
		if !slices.Contains(flags[r.Why], r.Flag) {
			flags[r.Why] = append(flags[r.Why], r.Flag)
		}
	}
	lines := make([]string, len(reasons))
	for i, why := range reasons {
		lines[i] = inputs.Escaped(strings.Join(flags[why], " ") + ": " + why)
	}
	return lines
}
