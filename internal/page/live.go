package page

import (
	"html/template"
	"io"
	"net/http"
)

// Live is a page that a server gives: its script asks that server, and draws what it answers with drawPlot.
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
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+sourceOf(l.style())+"; script-src "+
		sourceOf(library())+" "+sourceOf(plotsJS)+" "+sourceOf(l.Script)+
		"; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	_ = l.Write(w) // a browser that has gone needs no page
}

// Write writes the page.
func (l *Live) Write(w io.Writer) error {
	t, err := template.New("live").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
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
	return t.Execute(w, map[string]any{"Title": l.Title, "Body": l.Body, "Style": template.CSS(l.style()),
		"Library": template.JS(library()), "Plots": template.JS(plotsJS), "Script": template.JS(l.Script)})
}

func (l *Live) style() string { return uplotCSS + "\n" + pageCSS + "\n" + l.Style }

// library is the plot library with its licence.
func library() string { return "/* uPlot\n" + uplotLicence + "\n*/\n" + uplotJS }
