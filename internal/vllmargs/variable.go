package vllmargs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// variables are those of the text itself and of --var. A text often stands in a script that says what its variables
// are.
type variables struct {
	value map[string]string
	fixed map[string]bool // given by --var, which stands above the script
	order []string        // names in the order in which the text sets them
}

// newVariables reads NAME=VALUE pairs.
func newVariables(pairs []string) (variables, error) {
	v := variables{value: map[string]string{}, fixed: map[string]bool{}}
	for _, pair := range pairs {
		m := assignment.FindStringSubmatch(pair)
		if m == nil {
			return v, fmt.Errorf("--var %q: expected NAME=VALUE, such as CONC=64", pair)
		}
		v.value[m[1]], v.fixed[m[1]] = m[2], true
	}
	return v, nil
}

func (v *variables) set(name, value string) {
	if !slices.Contains(v.order, name) {
		v.order = append(v.order, name)
	}
	if !v.fixed[name] && !strings.Contains(value, "$") { // what is not known stays unknown
		v.value[name] = value
	}
}

// reference matches ${NAME}, ${NAME:-otherwise}, ${NAME-otherwise} and $NAME.
var reference = regexp.MustCompile(`^\$(?:\{([A-Za-z_]\w*)(?::?-([^}]*))?\}|([A-Za-z_]\w*))`)

// expand replaces what stands at a $ by its value; one that is not known stays as it is written. Without quotes, the
// value is split into words.
func (l *lexer) expand(inQuotes bool) {
	rest := l.text[l.at:]
	length, value, known := 1, "", false
	m := reference.FindStringSubmatch(rest)
	switch {
	case strings.HasPrefix(rest, "$(("):
		length = closing(rest)
		value, known = l.arithmetic(strings.TrimSuffix(rest[3:max(3, length-1)], ")"))
	case strings.HasPrefix(rest, "$("):
		length = closing(rest)
	case m != nil:
		length = len(m[0])
		value, known = l.value[m[1]+m[3]]
		if !known && strings.Contains(m[0], "-") {
			value, known = m[2], !strings.Contains(m[2], "$")
		}
	case strings.HasPrefix(rest, "${"):
		length = strings.IndexByte(rest+"}", '}') + 1
	}
	length = min(length, len(rest))
	l.at += length
	switch {
	case !known:
		l.word.WriteString(rest[:length])
		l.open = true
	case inQuotes:
		l.word.WriteString(value)
	default:
		l.unquoted(value)
	}
}

func (l *lexer) unquoted(value string) {
	for i, w := range strings.Fields(value) {
		if i > 0 {
			l.close()
		}
		l.word.WriteString(w)
		l.open = true
	}
}

// closing returns the length of a text up to the parenthesis that closes its first.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// unknownVariable returns the first variable of a value that nobody set, as it is written; empty: none.
func unknownVariable(value string) string {
	at := strings.IndexByte(value, '$')
	if at < 0 {
		return ""
	}
	if m := regexp.MustCompile(`\$?\{?([A-Za-z_]\w*)`).FindStringSubmatch(value[at+1:]); m != nil {
		return m[1]
	}
	return value[at:]
}
