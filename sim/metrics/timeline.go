package metrics

import "github.com/decodesim/decodesim/sim"

// Sample is the state of the whole system at one instant. Counts are cumulative.
type Sample struct {
	At      sim.Time
	Arrived int64
	Ended   int64
	Running int64 // admitted requests
	Waiting int64
	KVUsed  int64 // blocks
	KVTotal int64
	Tokens  int64 // emitted so far
}
