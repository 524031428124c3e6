package page

import (
	_ "embed" // template, style and scripts
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed plots.js
var plotsJS string

//go:embed uplot/uPlot.iife.min.js
var uplotJS string

//go:embed uplot/uPlot.min.css
var uplotCSS string

//go:embed uplot/LICENSE
var uplotLicence string
