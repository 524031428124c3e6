package vllmargs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// textMax bounds what is read as a command line, in bytes.
const textMax = 1 << 20

// lexer splits a text into the words of its commands, as a shell would, and forgives what pasting does to one: spaces
// behind a backslash that ends a line, and lines that begin with a flag although the line before has no backslash.
type lexer struct {
	text string
	at   int
	variables

	statements [][]string
	words      []string        // of the statement under way
	begun      bool            // one of them names its command: what comes before may set variables
	word       strings.Builder // the word under way
	open       bool            // there is one, perhaps empty
	redirected string          // the operator whose target comes next; empty: none
	documents  []string        // ends of here-documents that begin on the next line
	target     string          // the file that the statement writes
	files      map[string]string
}

// split returns the commands of a text, each as its words.
func split(text string, v variables) (*lexer, error) {
	switch {
	case len(text) > textMax:
		return nil, fmt.Errorf("the text has %d bytes; expected the command line of one server, at most %d bytes", len(text),
			textMax)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return nil, errors.New("the text is not UTF-8; expected the command line of a server")
	}
	l := &lexer{text: strings.ReplaceAll(text, "\r", ""), variables: v}
	for l.at < len(l.text) {
		if err := l.step(); err != nil {
			return nil, err
		}
	}
	l.end()
	return l, nil
}

// step reads one character outside of quotes, or a quoted stretch.
func (l *lexer) step() error {
	switch c := l.text[l.at]; c {
	case ' ', '\t':
		l.close()
		l.at++
	case '\n':
		l.at++
		return l.newline()
	case ';', '&', '|', '(', ')':
		l.end()
		l.at++
	case '<', '>':
		l.redirect()
	case '#':
		if l.open {
			l.keep()
			return nil
		}
		l.at += upTo(l.text[l.at:], '\n')
	case '\\':
		l.escape()
	case '\'', '"':
		return l.quoted(c)
	case '$':
		return l.expand(false)
	default:
		l.keep()
	}
	return nil
}

// upTo is the length of a text up to a character, or of all of it.
func upTo(text string, end byte) int {
	if i := strings.IndexByte(text, end); i >= 0 {
		return i
	}
	return len(text)
}

func (l *lexer) keep() {
	l.word.WriteByte(l.text[l.at])
	l.open = true
	l.at++
}

// lineEnd matches the end of a line behind a backslash.
var lineEnd = regexp.MustCompile(`^\\[ \t]*(\n|$)`)

func (l *lexer) escape() {
	if end := lineEnd.FindString(l.text[l.at:]); end != "" {
		l.close()
		l.at += len(end)
		return
	}
	l.at++
	l.keep()
}

// flagNext matches lines that go on with a flag, and what stands before it: blank lines and comments.
var flagNext = regexp.MustCompile(`^((?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*)(?:-|–|—)`)

func (l *lexer) newline() error {
	l.close()
	for _, end := range l.documents {
		if err := l.file(l.document(end)); err != nil {
			return err
		}
	}
	l.documents, l.target = nil, ""
	var next []string
	if len(l.words) > 0 {
		next = flagNext.FindStringSubmatch(l.text[l.at:])
	}
	if next == nil {
		l.end()
		return nil
	}
	l.at += len(next[1]) // read once, however many lines of comments there are
	return nil
}

// document reads a here-document up to the line that ends it, or to the end of the text.
func (l *lexer) document(end string) (body string) {
	from := l.at
	for l.at < len(l.text) {
		line := l.at
		l.at = min(len(l.text), line+upTo(l.text[line:], '\n')+1)
		if strings.TrimSuffix(l.text[line:l.at], "\n") == end {
			return l.text[from:max(from, line-1)]
		}
	}
	return l.text[from:]
}

// file keeps a here-document that becomes a file: scripts write the settings of their server so.
func (l *lexer) file(body string) error {
	if l.target == "" {
		return nil
	}
	d := &lexer{text: body, variables: l.variables}
	for d.at < len(d.text) {
		if d.text[d.at] != '$' {
			d.keep()
		} else if err := d.expand(true); err != nil {
			return err
		}
	}
	if l.files == nil {
		l.files = map[string]string{}
	}
	l.files[l.target] = d.word.String()
	return nil
}

// redirect drops an operator such as 2>&1 and has its target dropped.
func (l *lexer) redirect() {
	if strings.Trim(l.word.String(), "0123456789") == "" {
		l.word.Reset()
		l.open = false
	}
	l.close()
	from := l.at
	for l.at < len(l.text) && strings.IndexByte("<>&-", l.text[l.at]) >= 0 {
		l.at++
	}
	l.redirected = l.text[from:l.at]
}

// quoted reads a stretch in quotes. Between double ones variables count.
func (l *lexer) quoted(quote byte) error {
	from := l.at
	l.open = true
	for l.at++; l.at < len(l.text); {
		switch c := l.text[l.at]; {
		case c == quote:
			l.at++
			return nil
		case quote == '"' && c == '\\' && l.at+1 < len(l.text) && strings.IndexByte("\"\\$`\n", l.text[l.at+1]) >= 0:
			l.at++
			if l.text[l.at] != '\n' {
				l.keep()
			} else {
				l.at++
			}
		case quote == '"' && c == '$':
			if err := l.expand(true); err != nil {
				return err
			}
		default:
			l.keep()
		}
	}
	line := 1 + strings.Count(l.text[:from], "\n")
	return fmt.Errorf("line %d: the quote %c of %s has no end; expected another %c", line, quote, clip(l.text[from:]),
		quote)
}

// close ends the word under way.
func (l *lexer) close() {
	if !l.open {
		return
	}
	w := l.word.String()
	l.word.Reset()
	l.open = false
	switch {
	case strings.HasPrefix(l.redirected, "<<") && l.redirected != "<<<":
		l.documents = append(l.documents, w)
	case strings.HasPrefix(l.redirected, ">"):
		l.target = w
	case l.redirected != "":
	default:
		l.add(w, dashes(w))
	}
	l.redirected = ""
}

// end ends the statement under way.
func (l *lexer) end() {
	l.close()
	if len(l.words) > 0 {
		l.statements = append(l.statements, l.words)
	}
	l.words, l.begun, l.redirected = nil, false, ""
}

// add appends a word to the statement under way, which it may set a variable for.
func (l *lexer) add(written, word string) {
	l.assigns(written)
	l.words = append(l.words, word)
	l.begun = l.begun || !assignment.MatchString(word) && !slices.Contains(beforeCommands, word)
}

// beforeCommands are words behind which variables are still set, and no command has begun.
var beforeCommands = []string{"export", "env", "sudo", "declare", "local"}

// assignment is NAME=value.
var assignment = regexp.MustCompile(`^([A-Za-z_]\w*)=((?s:.*))$`)

// assigns takes note of a variable that is set in front of a command, by itself, or for a container.
func (l *lexer) assigns(w string) {
	n := len(l.words)
	container := n > 0 && slices.Contains([]string{"-e", "--env"}, l.words[n-1])
	if rest, ok := strings.CutPrefix(w, "--env="); ok {
		w, container = rest, true
	}
	if l.begun && !container {
		return
	}
	if m := assignment.FindStringSubmatch(w); m != nil {
		l.set(m[1], m[2])
	}
}

// dashes undoes what word processors make of -- and -.
func dashes(w string) string {
	for _, dash := range []string{"—", "–"} {
		if rest, ok := strings.CutPrefix(w, dash); ok {
			rest = strings.TrimLeft(rest, "-–")
			if len(rest) <= 3 {
				return "-" + rest
			}
			return "--" + rest
		}
	}
	return w
}

// clipMax is how much of a user's text messages repeat, in bytes.
const clipMax = 60

// clip returns a text on one line, shortened.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= clipMax {
		return text
	}
	return strings.ToValidUTF8(text[:clipMax], "") + "…"
}
