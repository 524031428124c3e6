package sim

import (
	"github.com/decodesim/decodesim/sim/batch"
	"github.com/decodesim/decodesim/sim/clock"
	"github.com/decodesim/decodesim/sim/kv"
	"github.com/decodesim/decodesim/sim/transfer"
)

// The clock: instants and spans in picoseconds, see package clock.
type (
	Time     = clock.Time
	Duration = clock.Duration
	Uint128  = clock.Uint128
)

// Units of Duration, and the limits of the clock.
const (
	Picosecond  = clock.Picosecond
	Nanosecond  = clock.Nanosecond
	Microsecond = clock.Microsecond
	Millisecond = clock.Millisecond
	Second      = clock.Second

	Forever  = clock.Forever
	HorizonS = clock.HorizonS
	ClockEnd = clock.End
)

// Seconds converts s, rounding to the nearest picosecond; see clock.Seconds.
func Seconds(s float64) Duration { return clock.Seconds(s) }

// SecondsUp converts s, rounding up to the next picosecond; see clock.SecondsUp.
func SecondsUp(s float64) Duration { return clock.SecondsUp(s) }

// What a cost model reads and writes: the sums of a batch, and the price of consecutive steps, see package batch.
type (
	Shape   = batch.Shape
	Capped  = batch.Capped
	Window  = batch.Window
	Segment = batch.Segment
	Affine  = batch.Affine
	Part    = batch.Part
	Parts   = batch.Parts
)

// The parts of a step, in the order in which overlapping time is attributed.
const (
	Weights       = batch.Weights
	KV            = batch.KV
	Compute       = batch.Compute
	Communication = batch.Communication
	Overhead      = batch.Overhead
	NumParts      = batch.NumParts
)

// The KV cache of an instance and what prompts have in common, see package kv.
type (
	Cache    = kv.Cache
	Contents = kv.Contents
	Windowed = kv.Windowed
	Drafter  = kv.Drafter
	Passing  = kv.Passing
)

// Link is what a KV transfer between two instances takes, see package transfer.
type Link = transfer.Link
