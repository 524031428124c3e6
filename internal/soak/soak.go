package soak

import "os"

// Asked reports whether the long version of the tests was asked for.
func Asked() bool { return os.Getenv("DECODESIM_SOAK") != "" }

// Cases returns how many cases to try.
func Cases(usual, long int) int {
	if Asked() {
		return long
	}
	return usual
}
