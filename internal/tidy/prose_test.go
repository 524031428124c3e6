package tidy

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// passage is text that people read: a comment, a message, a paragraph.
type passage struct {
	path string
	line int // of its first line
	text string
}

// at returns a finding at an offset of the text.
func (p passage) at(offset int, format string, args ...any) string {
	line := p.line + strings.Count(p.text[:offset], "\n")
	return fmt.Sprintf("%s:%d: %s", p.path, line, fmt.Sprintf(format, args...))
}

// prose returns what people read of a Go file: comments and messages.
func (s *source) prose() []passage {
	var passages []passage
	for _, group := range s.file.Comments {
		var lines []string
		for _, c := range group.List {
			lines = append(lines, strings.TrimPrefix(c.Text, "//"))
		}
		text := quoted.ReplaceAllStringFunc(strings.Join(lines, "\n"), blank)
		passages = append(passages, passage{path: s.path, line: s.line(group.Pos()), text: text})
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if n.Kind == token.STRING && !tags[n] {
				text, _ := strconv.Unquote(n.Value) // the parser has accepted it
				if n.Value[0] == '"' {
					text = strings.ReplaceAll(text, "\n", " ") // it is one line of the file
				}
				text = quoted.ReplaceAllStringFunc(text, blank)
				passages = append(passages, passage{path: s.path, line: s.line(n.Pos()), text: text})
			}
		}
		return true
	})
	return passages
}

var (
	quoted   = regexp.MustCompile("`[^`\n]*`")
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	linked   = regexp.MustCompile(`\]\([^)]*\)|https?://\S+`)
	yamlKeys = regexp.MustCompile(`[\w.-]+:(\s|$)`)
)

// blankLine returns s without what is on its lines.
func blankLine(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

// blank returns s with every letter struck out, so that lines stay where they are.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r > 127 {
			return r
		}
		return '_'
	}, s)
}

// prose returns what people read of a file: comments and messages of Go, Markdown outside code, YAML without its keys,
// the Markdown of a notebook.
func (f *file) prose() []passage {
	whole := func(text string) []passage { return []passage{{path: f.name, line: 1, text: text}} }
	switch path.Ext(f.name) {
	case ".go":
		return f.source.prose()
	case ".md":
		return whole(markdown(f.text))
	case ".yaml", ".yml":
		return whole(yamlKeys.ReplaceAllStringFunc(f.text, blank))
	case ".ipynb":
		return whole(markdown(notebook(f.text)))
	}
	return nil
}

// markdown strikes out the code of a page and the targets of its links.
func markdown(text string) string {
	var out []string
	code := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
			line = ""
		case code || strings.HasPrefix(line, "    "):
			line = ""
		}
		out = append(out, line)
	}
	text = quoted.ReplaceAllStringFunc(strings.Join(out, "\n"), blank)
	return linked.ReplaceAllStringFunc(text, blank)
}

// notebook returns the Markdown cells of a notebook.
func notebook(text string) string {
	var book struct {
		Cells []struct {
			Type   string   `json:"cell_type"`
			Source []string `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal([]byte(text), &book); err != nil {
		panic(err)
	}
	var cells []string
	for _, c := range book.Cells {
		if c.Type == "markdown" {
			cells = append(cells, strings.Join(c.Source, ""))
		}
	}
	return strings.Join(cells, "\n\n")
}
