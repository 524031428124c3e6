package openai

import (
	_ "embed"
	"net/http"
)

//go:embed page.html
var pageHTML []byte

// page answers with the page that shows the fleet. It loads nothing from elsewhere.
func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'")
	_, _ = w.Write(pageHTML)
}
