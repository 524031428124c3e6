// Package memory says how much memory there is, for what refuses work that would not fit.
//
//	memory_linux.go the system's, a control group's and a limit's
//	memory_other.go elsewhere nobody knows
package memory
