// Package names turns names of models, GPUs, engines and number formats, as repositories, drivers and tables spell
// them, into those of the catalogs.
//
//	names.go     the names
//	spelling.go  the name that was perhaps meant
package names
