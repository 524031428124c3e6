package page

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"
)

// view is a page with what surrounds it.
type view struct {
	*Page
	Policy  string
	Style   template.CSS
	Library template.JS
	Script  template.JS
	Plots   []Plot
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	v := &view{Page: p, Style: template.CSS(uplotCSS + "\n" + pageCSS),
		Library: template.JS(library()), Script: template.JS(plotsJS)}
	v.Policy = "default-src 'none'; style-src " + sourceOf(string(v.Style)) + "; script-src " +
		sourceOf(string(v.Library)) + " " + sourceOf(string(v.Script)) + "; base-uri 'none'; form-action 'none'"
	for i := range p.Sections {
		v.collect(p.Sections[i].Blocks)
	}
	next := 0
	t, err := template.New("page").Funcs(template.FuncMap{
		"number": func() int { next++; return next - 1 }, // of the plot, in the order of collect
		"class":  func(part int) int { return part % partsMax },
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// partsMax is how many colours bars have.
const partsMax = 9

// collect lists the plots in the order in which the template meets them.
func (v *view) collect(blocks []Block) {
	for _, b := range blocks {
		v.Plots = append(v.Plots, b.Plots...)
		if b.Fold != nil {
			v.collect(b.Fold.Blocks)
		}
	}
}

// sourceOf allows a style or a script by its digest.
func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
