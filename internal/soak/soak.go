package soak

import (
	"os"
	"testing"
)

// Asked reports whether the long version of the tests was asked for.
func Asked() bool { return os.Getenv("DECODESIM_SOAK") != "" }

// Cases returns how many cases to try.
func Cases(usual, long int) int {
	if Asked() {
		return long
	}
	return usual
}

// Brief reports whether make test asks, which leaves to make test-long what takes long. It does not say so by go test
// -short, under which rapid draws a fifth, of which some have nothing of what a test asks to have come up.
func Brief() bool { return os.Getenv("BRIEF_TESTS") != "" && !Asked() }

// TakesLong leaves a test to make test-long.
func TakesLong(t testing.TB) {
	if Brief() {
		t.Helper()
		t.Skip("takes long: make test-long")
	}
}

// Part returns n, or a fifth of it in make test.
func Part(n int) int {
	if Brief() {
		return (n + 4) / 5
	}
	return n
}

// Least returns how often something has to come up at least, where all cases have to draw it so often: in make test,
// where a fifth of them are drawn, a tenth of that.
func Least(least int) int {
	if Brief() {
		return least / 10
	}
	return least
}
