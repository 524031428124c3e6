// Package small has scenarios of an instance or two with a few blocks and a few requests, in which each token of a
// budget decides something, and what becomes of their requests. They are for tests: those of sim compare each with a
// naive twin, by which outcomes.txt is written; those of policies, which cannot ask the twin, with that file.
//
//	scenario.go  what is drawn; rare.go more kinds, by their numbers
//	config.go    as the simulator takes it
//	outcomes.go  what becomes of it
package small
