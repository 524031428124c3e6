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

// newPage returns the page of a scenario.
func newPage(scenario string) *page.Live {
	return &page.Live{Title: scenario + " · decodesim explore", Body: template.HTML(pageHTML), Style: pageCSS,
		Script: pageJS}
}
