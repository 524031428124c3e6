package main

import (
	"fmt"
	"strings"
)

// page writes docs/defaults.md.
func page(releases []release) []byte {
	var b strings.Builder
	b.WriteString("# Defaults of engines\n\n" +
		"What an engine does by itself, and where that was read: file and lines of a release's source. Written from\n" +
		"`tools/defaults/releases/` by `go test ./tools/defaults -run Page -update`. A test demands that a scenario\n" +
		"under the release takes these values where it says nothing, and `make defaults` that the lines of the release\n" +
		"are the ones that were read. `go run ./tools/defaults -newest` compares the newest releases. What is marked\n" +
		"unverified in [engines.md](engines.md) is in none of these tables: the sources of TensorRT-LLM are not on\n" +
		"the index.\n")
	for i := range releases {
		r := &releases[i]
		fmt.Fprintf(&b, "\n## %s %s\n\nEngine [%s](engines.md#%s), from `%s`.\n\n", r.Project, r.Version, r.Engine, r.Engine,
			r.Archive)
		b.WriteString("| argument or entry | default | where | read in |\n|---|--:|---|---|\n")
		for j := range r.Defaults {
			d := &r.Defaults[j]
			fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", d.name(), d.Value, d.Where, d.Source)
		}
	}
	return []byte(b.String())
}
