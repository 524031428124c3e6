package vllmargs

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

// arity is how many words follow a flag.
type arity int

const (
	nothing arity = iota // a switch, which --no- turns off
	one
	several // up to the next flag
	maybe   // one, or none
)

// flag is an argument that is known, under all its names, and what reading it does to the draft.
type flag struct {
	names []string
	takes arity
	read  reader
}

// reader takes a flag into the draft: as a key, as one that has no influence, or as one that has but is not modelled.
type reader func(d *draft, g *given) error

// given is a flag of the command line.
type given struct {
	flag    flag
	written string   // as the user writes its name
	path    []string // of a part of a value, as in --compilation-config.cudagraph_mode
	values  []string
	off     bool // a switch that is turned off

	before   []*given // the same flag, further in front
	remarked bool     // it became no key
}

// value returns the value of a flag that takes one, or the last of several.
func (g *given) value() string {
	if len(g.values) == 0 {
		return ""
	}
	return g.values[len(g.values)-1]
}

// text is the flag as the user gave it.
func (g *given) text() string {
	return clip(strings.Join(append([]string{g.written}, g.values...), " "))
}

// row is a flag with names that are separated by spaces, the one to speak of first.
func row(names string, takes arity, read reader) flag {
	return flag{strings.Fields(names), takes, read}
}

// rows are flags that are treated alike, each under a single name.
func rows(takes arity, read reader, names string) []flag {
	var all []flag
	for _, name := range strings.Fields(names) {
		all = append(all, row(name, takes, read))
	}
	return all
}

// table are the flags of an engine.
type table []flag

// flagsOf returns the flags of an engine.
func flagsOf(engine string) table {
	switch engine {
	case sglang:
		return slices.Concat(sglangFlags(), sglangIdle())
	case tensorRTLLM:
		return slices.Concat(tensorRTFlags(), tensorRTIdle())
	}
	return slices.Concat(vllmFlags(engine == vllmV0), vllmIdle())
}

// spelling is a flag's name as the tables have it: engines take underscores for dashes.
func spelling(name string) string { return strings.ReplaceAll(name, "_", "-") }

// match is the flag that a written name means: whether the name turns a switch off, and the part of the value that the
// name goes on with after a dot.
type match struct {
	flag
	off  bool
	path []string
}

// find returns what a name means. Engines take the beginning of a name for the whole where no other flag begins so; the
// tables lack flags, so that this holds only for beginnings of eight letters or more.
func (t table) find(written string) (m match, known bool) {
	name := spelling(written)
	f, known := t.exactly(name)
	if known {
		return match{flag: f}, true
	}
	if rest, ok := strings.CutPrefix(name, "--no-"); ok {
		f, known = t.exactly("--" + rest)
		if known && f.takes == nothing {
			return match{flag: f, off: true}, true
		}
	}
	if head, _, ok := strings.Cut(name, "."); ok {
		f, known = t.exactly(head)
		if known {
			_, rest, _ := strings.Cut(written, ".")
			return match{flag: f, path: strings.Split(rest, ".")}, true
		}
	}
	if len(name) >= len("--")+8 {
		f, known = t.beginning(name)
	}
	return match{flag: f}, known
}

func (t table) exactly(name string) (flag, bool) {
	for _, f := range t {
		if slices.Contains(f.names, name) {
			return f, true
		}
	}
	return flag{}, false
}

func (t table) beginning(name string) (flag, bool) {
	var found flag
	n := 0
	for _, f := range t {
		if slices.ContainsFunc(f.names, func(full string) bool { return strings.HasPrefix(full, name) }) {
			found = f
			n++
		}
	}
	return found, n == 1
}

// nearest returns the flag that was perhaps meant; empty: none is near.
func (t table) nearest(written string) string {
	var names []string
	for _, f := range t {
		names = append(names, f.names...)
	}
	return strict.Suggest(spelling(written), names)
}
