package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// variant is one scenario of a comparison before it is built.
type variant struct {
	Name   string // of its column and its folder; no two have the same
	label  string // as errors name it
	source string // name or path
	engine string // that takes the place of the scenario's; empty: none does
	set    []string
	env    []string
}

// variants returns what the command line asks to compare.
func (q *Plan) variants() ([]variant, error) {
	var all []variant
	switch {
	case len(q.Engines) > 0:
		for _, e := range q.Engines {
			e = strings.TrimSpace(e)
			if _, err := catalog.Engine(e); err != nil {
				return nil, fmt.Errorf("--engines: %w", err)
			}
			if slices.ContainsFunc(all, func(v variant) bool { return v.engine == e }) {
				return nil, fmt.Errorf("--engines %q: %s twice; expected every engine once", strings.Join(q.Engines, ","), e)
			}
			all = append(all, variant{Name: e, label: "engine " + e, source: q.Sources[0], engine: e, set: q.Set, env: q.Env})
		}
	case len(q.With) > 0:
		all = append(all, variant{label: q.Sources[0], source: q.Sources[0], set: q.Set, env: q.Env})
		for _, w := range q.With {
			changes := strings.Fields(w)
			if len(changes) == 0 {
				return nil, fmt.Errorf("--with %q: expected KEY=VALUE, such as --with weights=bf16", w)
			}
			all = append(all, variant{Name: shortChanges(changes, q.With), label: "--with " + w, source: q.Sources[0],
				set: append(slices.Clone(q.Set), changes...), env: q.Env})
		}
	default:
		for _, a := range q.Sources {
			all = append(all, variant{label: a, source: a, set: q.Set, env: q.Env})
		}
	}
	return all, nil
}

// shortChanges names a variant by its changes, without the sections of the keys where that leaves no doubt: replicas=3.
func shortChanges(changes, with []string) string {
	short := func(change string) string {
		key, value, _ := strings.Cut(change, "=")
		return key[strings.LastIndexByte(key, '.')+1:] + "=" + value
	}
	seen := map[string]string{}
	for _, w := range with {
		for _, change := range strings.Fields(w) {
			if other, ok := seen[short(change)]; ok && other != change {
				return strings.Join(changes, " ")
			}
			seen[short(change)] = change
		}
	}
	names := make([]string, len(changes))
	for i, change := range changes {
		names[i] = short(change)
	}
	return strings.Join(names, " ")
}

// load reads the scenario of v under a seed; nil: its own.
func (v *variant) load(seed *uint64) (*configs.Scenario, error) {
	s, err := configs.Load(v.source, configs.Options{Set: v.set, Env: v.env, Seed: seed, Engine: v.engine})
	if err == nil && s.Workload.Precision > 0 {
		err = s.Errorf("workload.precision", "%g lengthens each run by itself, and a comparison sends the same requests "+
			"through each; expected null", s.Workload.Precision)
	}
	return s, v.named(err)
}

// named says in an error which variant it is about, unless it says so itself.
func (v *variant) named(err error) error {
	if err == nil || strings.Contains(err.Error(), v.label) {
		return err
	}
	var at *strict.Error
	if change, set := "", errors.As(err, &at); set {
		change, set = strings.CutPrefix(at.Where, "--set ")
		if said, with := strings.CutPrefix(v.label, "--with "); set && with && slices.Contains(strings.Fields(said), change) {
			return strict.Errorf(v.label, "%s%s", at.Message, withSpaces(said)) // the user wrote no --set
		}
	}
	return fmt.Errorf("%s: %w", v.label, err)
}

// comma stands between two settings, where a space is meant: a value may have commas itself.
var comma = regexp.MustCompile(`, *([a-z_][a-z0-9_.-]*=)`)

// withSpaces says how several changes of one variant are written, where commas stand between them; empty: none do.
func withSpaces(said string) string {
	if spaced := comma.ReplaceAllString(said, " $1"); spaced != said {
		return fmt.Sprintf("; changes of one variant have spaces between them: --with '%s'", spaced)
	}
	return ""
}

// nameDistinctly gives every variant a name, and scenarios of one name numbers. Names are those of folders too.
func nameDistinctly(all []variant, scenarios []*configs.Scenario) {
	var taken []string
	for i := range all {
		v := &all[i]
		if v.Name == "" {
			v.Name = scenarios[i].Name
		}
		base := v.Name
		for n := 2; slices.ContainsFunc(taken,
			func(t string) bool { return strings.EqualFold(Folder(t), Folder(v.Name)) }); n++ {
			v.Name = fmt.Sprintf("%s-%d", base, n)
		}
		taken = append(taken, v.Name)
	}
}

// Folder is the directory of a name: without what means something to a file system.
func Folder(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>| `, r) {
			return '-'
		}
		return r
	}, name)
	if strings.Trim(plain, ".") == "" || strings.HasPrefix(plain, ".") {
		plain = "-" + plain
	}
	return plain
}

// once leaves the notes that say something new.
func once(notes []string) []string {
	var remaining []string
	for _, n := range notes {
		if !slices.Contains(remaining, n) {
			remaining = append(remaining, n)
		}
	}
	return remaining
}
