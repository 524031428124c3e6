package vllmargs

import (
	"fmt"
	"regexp"
	"strings"
)

// variables are those of the text itself and of --var. A text often stands in a script that says what its variables
// are.
type variables struct {
	value map[string]string
	fixed map[string]bool // given by --var, which stands above the script
	order []string        // names in the order in which the text sets them
	named map[string]bool // those of order
	grown *int            // bytes that values have put in the place of variables
}

// grownMax bounds what values put in the place of variables, in bytes: a value that holds the one before it twice
// doubles with each line, so that a script of forty lines would be longer than any memory.
const grownMax = 4 << 20

// newVariables reads NAME=VALUE pairs.
func newVariables(pairs []string) (variables, error) {
	v := variables{value: map[string]string{}, fixed: map[string]bool{}, named: map[string]bool{}, grown: new(int)}
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
	if !v.named[name] {
		v.order, v.named[name] = append(v.order, name), true
	}
	if !v.fixed[name] && !strings.Contains(value, "$") { // what is not known stays unknown
		v.value[name] = value
	}
}

// reference matches ${NAME}, ${NAME:-otherwise}, ${NAME-otherwise} and $NAME.
var reference = regexp.MustCompile(`^\$(?:\{([A-Za-z_]\w*)(?::?-([^}]*))?\}|([A-Za-z_]\w*))`)

// expand replaces what stands at a $ by its value; one that is not known stays as it is written. Without quotes, the
// value is split into words.
func (l *lexer) expand(inQuotes bool) error {
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
		length = upTo(rest, '}') + 1
	}
	length = min(length, len(rest))
	l.at += length
	if !known {
		l.word.WriteString(rest[:length])
		l.open = true
		return nil
	}
	*l.grown += len(value)
	if *l.grown > grownMax {
		return fmt.Errorf("the values of variables make the text longer by more than %d bytes, at %s; expected the command "+
			"line of one server", grownMax, clip(rest[:length]))
	}
	if inQuotes {
		l.word.WriteString(value)
	} else {
		l.unquoted(value)
	}
	return nil
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
