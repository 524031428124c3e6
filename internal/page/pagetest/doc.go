// Package pagetest opens pages in a headless browser, for the tests of what writes them.
package pagetest
