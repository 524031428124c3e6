// Package memory says how much memory there is, for what refuses work that would not fit.
//
//	room.go         refuses what would take more than there is
//	watch.go        notices that there is hardly any left
//	memory_linux.go the system's, a control group's and a limit's
//	memory_other.go elsewhere nobody knows
package memory
