package huggingface

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// matcher tells which modules a quantisation list names. Entries are regular expressions after "re:", globs with *,
// paths of one layer, or names without a path; writers of configs mix them.
type matcher struct {
	paths   map[string]bool // from "layers." on
	names   [][]string      // parts in a row, anywhere
	regexps []*regexp.Regexp
	globs   []*regexp.Regexp
	layered bool            // an entry other than a path has a digit, so that it may tell layers apart
	seen    map[string]bool // answers of names and patterns by name without its layer, unless layered
}

// layerPrefixes are what stands before "layers." in the families' module names.
var layerPrefixes = [...]string{"model.", "language_model.model.", "language_model.", "model.language_model.",
	"backbone.",
	"transformer.", ""}

const digits = "0123456789"

// otherParts mark modules outside of the decoder, whose layers have numbers of their own.
var otherParts = [...]string{"vision", "visual", "audio", "encoder", "mtp", "talker"}

func newMatcher(entries []string) (*matcher, error) {
	m := &matcher{paths: map[string]bool{}, seen: map[string]bool{}}
	for _, e := range entries {
		if err := m.add(e); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *matcher) add(entry string) error {
	if !strings.HasPrefix(entry, "re:") {
		entry = strings.TrimSuffix(entry, ".") // "layers.1." spares layers.10 where names are matched by their beginning
	}
	switch {
	case strings.HasPrefix(entry, "re:"):
		re, err := regexp.Compile("^(?:" + strings.TrimPrefix(entry, "re:") + ")")
		if err != nil {
			return fmt.Errorf("entry %q is no regular expression that is understood: %w", entry, err)
		}
		m.regexps = append(m.regexps, re)
		m.layered = m.layered || strings.ContainsAny(entry, digits)
	case strings.ContainsAny(entry, "*?"):
		glob := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(entry))
		re, err := regexp.Compile("^" + glob + "$")
		if err != nil {
			return fmt.Errorf("entry %q is no glob that is understood: %w", entry, err)
		}
		m.globs = append(m.globs, re)
		m.layered = m.layered || strings.ContainsAny(entry, digits)
	case slices.ContainsFunc(otherParts[:], func(p string) bool { return strings.Contains(entry, p) }):
	default:
		if _, path, ok := cutLayers(entry); ok {
			m.paths[path] = true
		} else {
			for _, prefix := range layerPrefixes {
				entry = strings.TrimPrefix(entry, prefix)
			}
			m.names = append(m.names, strings.Split(entry, "."))
			m.layered = m.layered || strings.ContainsAny(entry, digits)
		}
	}
	return nil
}

// cutLayers splits a module name before "layers.".
func cutLayers(name string) (before, path string, ok bool) {
	for _, mark := range []string{"layers.", "h."} {
		if strings.HasPrefix(name, mark) {
			return "", "layers." + name[len(mark):], true
		}
		if i := strings.Index(name, "."+mark); i >= 0 {
			return name[:i+1], "layers." + name[i+1+len(mark):], true
		}
	}
	return "", "", false
}

// matches reports whether the list names a module, or one that contains it. The name starts at "layers." or is a plain
// top-level one.
func (m *matcher) matches(name string) bool {
	for i := range name {
		if name[i] == '.' && m.paths[name[:i]] {
			return true
		}
	}
	if m.paths[name] {
		return true
	}
	if m.layered {
		return m.matchesRow(name) || m.matchesPattern(name)
	}
	general := withoutLayer(name)
	answer, ok := m.seen[general]
	if !ok {
		answer = m.matchesRow(name) || m.matchesPattern(name)
		m.seen[general] = answer
	}
	return answer
}

// withoutLayer drops the layer's number.
func withoutLayer(name string) string {
	rest, ok := strings.CutPrefix(name, "layers.")
	if !ok {
		return name
	}
	_, rest, _ = strings.Cut(rest, ".")
	return rest
}

func (m *matcher) matchesRow(name string) bool {
	parts := strings.Split(name, ".")
	return slices.ContainsFunc(m.names, func(want []string) bool { return containsRow(parts, want) })
}

func (m *matcher) matchesPattern(name string) bool {
	for _, prefix := range layerPrefixes {
		full := prefix + name
		for _, re := range m.regexps {
			if re.MatchString(full) {
				return true
			}
		}
		for _, re := range m.globs {
			if matchesParent(re, full) {
				return true
			}
		}
	}
	return false
}

// matchesParent tries the name and every module that contains it.
func matchesParent(re *regexp.Regexp, name string) bool {
	for i := range name {
		if name[i] == '.' && re.MatchString(name[:i]) {
			return true
		}
	}
	return re.MatchString(name)
}

// containsRow reports whether want stands in parts without a gap.
func containsRow(parts, want []string) bool {
	for i := 0; i+len(want) <= len(parts); i++ {
		if slices.Equal(parts[i:i+len(want)], want) {
			return true
		}
	}
	return false
}
