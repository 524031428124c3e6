package vllmargs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// isFlag tells flags from values, among which there are negative numbers.
func isFlag(word string) bool {
	return len(word) > 1 && word[0] == '-' && !regexp.MustCompile(`^-[\d.]`).MatchString(word)
}

// optimisation matches vLLM's -O3, whose number is no word of its own.
var optimisation = regexp.MustCompile(`^-O=?(\d)$`)

// parse returns the flags among the arguments in their order. What stands for itself may be a model; flags that no
// table has are remembered with what follows them.
func (d *draft) parse(args []string) ([]*given, error) {
	var all []*given
	for i := 0; i < len(args); {
		word := args[i]
		i++
		if m := optimisation.FindStringSubmatch(word); m != nil {
			word = "-O=" + m[1]
		}
		switch {
		case word == "--" || word == "":
			continue
		case !isFlag(word):
			d.positional = append(d.positional, word)
			continue
		}
		name, inline, has := strings.Cut(word, "=")
		m, known := d.flags.find(name)
		if !known {
			if !has && i < len(args) && !isFlag(args[i]) {
				i++
			}
			d.unknown = append(d.unknown, d.remarkUnknown(name))
			continue
		}
		g := &given{flag: m.flag, written: name, path: m.path, off: m.off}
		if has {
			g.values = []string{inline}
		} else {
			g.values = following(g, args[i:])
			i += len(g.values)
		}
		g.level()
		if err := g.complete(); err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// following returns the words behind a flag that are its values.
func following(g *given, rest []string) []string {
	n := 0
	for n < len(rest) && !isFlag(rest[n]) {
		n++
	}
	switch takes := g.flag.takes; {
	case takes == nothing && len(g.path) == 0:
		n = min(n, 1)
		if n == 1 && !strings.EqualFold(rest[0], "true") && !strings.EqualFold(rest[0], "false") {
			n = 0
		}
	case takes != several:
		n = min(n, 1)
	}
	return slices.Clone(rest[:n])
}

// complete refuses a flag that lacks its value.
func (g *given) complete() error {
	if g.flag.takes == nothing || g.flag.takes == maybe || len(g.values) > 0 && g.value() != "" {
		return nil
	}
	return fmt.Errorf("%s has no value; expected one behind it", g.written)
}

// lasting returns the flags that count, the last of each, and has it said where that is not the only one.
func (d *draft) lasting(all []*given) []*given {
	alike := map[string][]*given{}
	key := func(g *given) string { return strings.Join(append([]string{g.flag.names[0]}, g.path...), "\x00") }
	for _, g := range all {
		alike[key(g)] = append(alike[key(g)], g)
	}
	var last []*given
	for _, g := range all {
		same := alike[key(g)]
		if g == same[len(same)-1] {
			g.before = same[:len(same)-1]
			last = append(last, g)
		}
	}
	return last
}

// take reads the flags into the draft.
func (d *draft) take(all []*given) error {
	for _, g := range d.lasting(all) {
		if err := g.flag.read(d, g); err != nil {
			return err
		}
		switch n := len(g.before); {
		case n > 0 && g.remarked: // its value may be a secret
			d.note("%s is given %d times; the last counts", g.written, n+1)
		case n > 0:
			d.note("%s is given %d times; the last counts: %s", g.written, n+1, g.text())
		}
	}
	d.partly(all)
	return nil
}
