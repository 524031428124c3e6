// Package scratch has directories for what a process needs until it ends, and removes what killed ones have left.
//
//	dir.go     a directory below the system's one for temporary files
//	lock_*.go  the lock by which a process shows that it lives
package scratch
