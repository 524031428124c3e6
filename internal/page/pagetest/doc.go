// Package pagetest opens pages in a headless browser, for the tests of what writes them.
//
//	browser.go  a page whose own scripts say what they saw
//	drive.go    a page that is driven by clicks and keys, and what a screen reader has of it
//	numbers.go  whether numbers of a page are those of the JSON
package pagetest
