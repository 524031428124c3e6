// Package load says what a workload offers, and offers more or less of it without changing its shape.
//
//	load.go     what a workload offers, in which unit
//	vary.go     the same workload at another rate
//	sessions.go how long a run of sessions has to be
//	replay.go   a deployment under all of it
package load
