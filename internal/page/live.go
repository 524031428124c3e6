package page

import (
	"html/template"
	"io"
	"net/http"
)

// Live is a page whose script asks, a server or a program beside it, and draws the answers with drawPlot.
type Live struct {
	Title  string
	Body   template.HTML // within main
	Style  string        // over that of every page
	Script string
}

// ServeHTTP implements http.Handler.
func (l *Live) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy",
		l.policy("")+"; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	_ = l.write(w, "") // a browser that has gone needs no page
}

// WriteStatic writes the page as a file, with the rest of its policy of content: what its script asks is no server, but
// WebAssembly beside it.
func (l *Live) WriteStatic(w io.Writer, rest string) error {
	return l.write(w, l.policy(" 'self' 'wasm-unsafe-eval'")+"; "+rest)
}

// policy allows what is in the page, and more scripts.
func (l *Live) policy(scripts string) string {
	return "default-src 'none'; style-src " + sourceOf(l.style()) + "; script-src " + sourceOf(library()) + " " +
		sourceOf(plotsJS) + " " + sourceOf(l.Script) + scripts
}

func (l *Live) write(w io.Writer, policy string) error {
	t, err := template.New("live").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{{with .Policy}}<meta http-equiv="Content-Security-Policy" content="{{.}}">
{{end}}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
{{.Body}}
</main>
<script type="application/json" id="plots">[]</script>
<script>{{.Library}}</script>
<script>{{.Plots}}</script>
<script>{{.Script}}</script>
</body>
</html>
`)
	if err != nil {
		return err
	}
	return t.Execute(w, map[string]any{"Title": l.Title, "Policy": policy, "Body": l.Body,
		"Style": template.CSS(l.style()), "Library": template.JS(library()), "Plots": template.JS(plotsJS),
		"Script": template.JS(l.Script)})
}

func (l *Live) style() string { return uplotCSS + "\n" + pageCSS + "\n" + l.Style }

// library is the plot library with its licence.
func library() string { return "/* uPlot\n" + uplotLicence + "\n*/\n" + uplotJS }
