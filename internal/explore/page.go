package explore

import (
	_ "embed" // what the page is made of
	"html/template"

	"github.com/decodesim/decodesim/internal/page"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

//go:embed ask-server.js
var askServerJS string

// newPage returns the page of a scenario, which asks by a script.
func newPage(scenario, ask string) *page.Live {
	return &page.Live{Title: scenario + " · decodesim explore", Body: template.HTML(pageHTML), Style: pageCSS,
		Script: ask + pageJS}
}
