// Package freeze simulates a run once and prices its batches anew under other efficiencies, without simulating it
// again.
//
//	freeze.go  the run and the values to predict
//	recording.go  its batches; shapes.go the fewer shapes that stand for them
//	wait.go    which steps each measured value waits for
//	priced.go  deployments under the efficiencies that were asked for of late
//	store.go   a file that keeps what was frozen
package freeze
