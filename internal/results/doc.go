// Package results prints a run and writes its files.
//
//	print.go      the table, or JSON
//	files.go      what --out leaves
//	view.go       the run as benchmark tools would have measured it
//	view_json.go  views.json
package results
