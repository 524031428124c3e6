package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
)

// WriteHTML writes a table and figures as one page that needs nothing else.
func WriteHTML(w io.Writer, title, table string, drawings ...[]byte) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>%s</title>\n",
		html.EscapeString(title))
	page.WriteString("<style>body{font:14px sans-serif;margin:2em " +
		"auto;max-width:70em}pre{overflow-x:auto}svg{max-width:100%;height:auto}</style>\n")
	fmt.Fprintf(&page, "<pre>%s</pre>\n", html.EscapeString(table))
	for _, svg := range drawings {
		if at := bytes.Index(svg, []byte("<svg")); at > 0 {
			svg = svg[at:] // its XML head is no HTML
		}
		page.Write(svg)
	}
	page.WriteString("</html>\n")
	_, err := w.Write(page.Bytes())
	return err
}
