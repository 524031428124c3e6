// Package clock is simulated time: instants and spans in whole picoseconds, and which of many clocks strikes next.
//
//	time.go        instants, spans and their conversion to and from seconds
//	tournament.go  the earliest of one instant per instance, in O(log n) per change
//	uint128.go     sums that are too long for 64 bits
package clock
