package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// phrase is one form of a row of the glossary's second table.
type phrase struct {
	words   []string
	code    bool // banned in names
	text    bool // banned in prose
	instead string
}

// vocabulary is what the glossary bans.
type vocabulary struct {
	phrases map[string][]phrase // by their first word; one that is banned nowhere is one in which a banned word is right
	exact   map[string]bool     // names in which a banned word is right by itself
}

const glossaryPage = "docs/glossary.md"

// quoting names the files that say banned words in order to ban them.
var quoting = []string{glossaryPage, "internal/tidy/mutants_test.go", "internal/tidy/words_test.go"}

// pronouns are words for people. Requests, instances and policies are things, whatever is said of them.
var pronouns = regexp.MustCompile(`\b([Hh]e|[Ss]he|[Hh]im|[Hh]is|[Hh]ers?|[Ww]hoever|[Ww]hom(ever)?)\b`)

// persons are words that are wrong where only requests and instances are spoken of.
var persons = regexp.MustCompile(`\b([Ww]ho|([Nn]o|[Ss]ome|[Ee]very|[Aa]ny)body|([Ss]ome|[Ee]very|[Aa]ny)one)\b`)

// glossary reads the bans of docs/glossary.md.
func glossary(t *testing.T) *vocabulary {
	text, err := os.ReadFile(filepath.Join(root, glossaryPage))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## Banned words")
	require.True(t, found, "%s: no table of banned words", glossaryPage)
	v := &vocabulary{phrases: map[string][]phrase{}, exact: map[string]bool{}}
	for _, line := range strings.Split(table, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| banned") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		require.Len(t, cells, 4, "%s: %s", glossaryPage, line)
		where := strings.TrimSpace(cells[1])
		require.Contains(t, []string{"code", "text", "both"}, where, "%s: %s", glossaryPage, line)
		for _, form := range strings.Split(cells[0], ",") {
			v.add(form, phrase{code: where != "text", text: where != "code", instead: strings.TrimSpace(cells[2])})
		}
		for _, form := range strings.Split(cells[3], ",") {
			if name, ok := strings.CutSuffix(strings.TrimSpace(form), " alone"); ok {
				v.exact[strings.Trim(name, "`")] = true
			} else {
				v.add(form, phrase{})
			}
		}
	}
	for _, phrases := range v.phrases {
		slices.SortFunc(phrases, func(a, b phrase) int { return len(b.words) - len(a.words) })
	}
	return v
}

func (v *vocabulary) add(form string, p phrase) {
	form = strings.Trim(form, " `")
	p.words = words(form)
	if len(p.words) > 0 {
		v.phrases[p.words[0]] = append(v.phrases[p.words[0]], p)
	}
}

// lexeme is a word of a text, in lower case, or a semicolon.
type lexeme struct {
	word   string
	at     int
	joined bool // nothing but spaces, hyphens and underscores stand between it and the word before
	keyed  bool // it is an element of a dotted path, such as a key of a summary
}

// tokens splits text into words.
func tokens(text string) []lexeme {
	var out []lexeme
	joined := false
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && letter(text[j]) {
			j++
		}
		switch {
		case j > i:
			keyed := i > 1 && text[i-1] == '.' && letter(text[i-2])
			out = append(out, lexeme{word: strings.ToLower(text[i:j]), at: i, joined: joined, keyed: keyed})
			joined, i = true, j
			continue
		case text[i] == ';':
			out = append(out, lexeme{word: ";", at: i})
			joined = true
		case !strings.ContainsRune(" \t\n-_", rune(text[i])):
			joined = false
		}
		i++
	}
	return out
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// match returns the longest phrase of v that text begins with.
func (v *vocabulary) match(text []lexeme) (phrase, bool) {
	for _, p := range v.phrases[text[0].word] {
		if len(p.words) > len(text) {
			continue
		}
		same := true
		for i, w := range p.words {
			same = same && text[i].word == w && (i == 0 || text[i].joined)
		}
		if same {
			return p, true
		}
	}
	return phrase{}, false
}

// inText returns the findings of the glossary in p.
func (v *vocabulary) inText(p passage) []string {
	var findings []string
	text := tokens(p.text)
	for i := 0; i < len(text); i++ {
		if m, ok := v.match(text[i:]); ok {
			if m.text && !text[i].keyed {
				findings = append(findings, p.at(text[i].at, "%q: %s", strings.Join(m.words, " "), m.instead))
			}
			i += len(m.words) - 1
		}
	}
	return findings
}

// inName returns what is wrong with a declared name, or "".
func (v *vocabulary) inName(name string) string {
	if v.exact[name] {
		return ""
	}
	said := tokens(strings.Join(words(name), " "))
	for i := 0; i < len(said); i++ {
		m, ok := v.match(said[i:])
		switch {
		case ok && m.code:
			return fmt.Sprintf("%s: %q: %s", name, strings.Join(m.words, " "), m.instead)
		case ok:
			i += len(m.words) - 1
		}
	}
	return ""
}

// words splits a phrase, or a name of camelCase, into words in lower case.
func words(name string) []string {
	var parts []string
	for _, t := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) }) {
		runes := []rune(t)
		start := 0
		for i := 1; i <= len(runes); i++ {
			begins := i == len(runes) || unicode.IsUpper(runes[i]) &&
				(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
			if begins {
				parts = append(parts, strings.ToLower(string(runes[start:i])))
				start = i
			}
		}
	}
	return parts
}

// declared calls visit for every name that s declares.
func (s *source) declared(visit func(*ast.Ident)) {
	names := func(idents []*ast.Ident) {
		for _, id := range idents {
			visit(id)
		}
	}
	targets := func(define bool, exprs ...ast.Expr) {
		for _, x := range exprs {
			if id, ok := x.(*ast.Ident); ok && define {
				visit(id)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			visit(n.Name)
		case *ast.TypeSpec:
			visit(n.Name)
		case *ast.ValueSpec:
			names(n.Names)
		case *ast.Field:
			names(n.Names)
		case *ast.AssignStmt:
			targets(n.Tok == token.DEFINE, n.Lhs...)
		case *ast.RangeStmt:
			targets(n.Tok == token.DEFINE, n.Key, n.Value)
		}
		return true
	})
}

// sentence reports whether name is one of a test, which is a sentence.
func (s *source) sentence(name string) bool {
	return s.test && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Benchmark"))
}

// names checks every declared name; one of a test is a sentence, and checked as prose.
func (v *vocabulary) names(s *source) []string {
	var findings []string
	s.declared(func(id *ast.Ident) {
		if s.sentence(id.Name) {
			text := strings.Join(words(id.Name), " ")
			findings = append(findings, v.inText(passage{path: s.path, line: s.line(id.Pos()), text: text})...)
		} else if f := v.inName(id.Name); f != "" {
			findings = append(findings, s.at(id.Pos(), "%s", f))
		}
	})
	return findings
}

// noPersons finds pronouns for things.
func noPersons(p passage) []string {
	var findings []string
	find := func(words *regexp.Regexp) {
		for _, at := range words.FindAllStringIndex(p.text, -1) {
			findings = append(findings, p.at(at[0], "%q: a request, an instance or a policy is a thing", p.text[at[0]:at[1]]))
		}
	}
	find(pronouns)
	if slices.Contains([]string{"sim", "hardware", "policies"}, top(p.path)) {
		find(persons)
	}
	return findings
}

func TestNamesAreSplitIntoWords(t *testing.T) {
	assert.Equal(t, []string{"hand", "over", "s"}, words("handOverS"))
	assert.Equal(t, []string{"test", "kv", "cache"}, words("TestKVCache"))
	assert.Equal(t, []string{"hand", "over"}, words("hand-over"))
	assert.Equal(t, []string{"max", "utilization"}, words("MAX_UTILIZATION"))
}

func TestTheGlossaryIsInOrder(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, glossaryPage))
	require.NoError(t, err)
	table, _, _ := strings.Cut(string(text), "## Banned words")
	var sorted []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table, -1)[1:] {
		sorted = append(sorted, strings.ToLower(row[1]))
	}
	assert.True(t, slices.IsSorted(sorted), glossaryPage+": rows are sorted by their word")
	assert.Len(t, slices.Compact(slices.Clone(sorted)), len(sorted), glossaryPage+": a word has one row")
}
