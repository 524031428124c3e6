// Package toolview says what benchmark tools would have measured of a run.
//
//	view.go  the run in the terms of tools
//	json.go  views.json
package toolview
