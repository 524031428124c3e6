// Package soak says how much the tests of a law try: as much as finds a regression at every change, of
// which make test tries a part and make test-long all, or, in make soak, as much as finds what nobody has seen yet.
//
//	soak.go
package soak
