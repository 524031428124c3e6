//go:build linux && (amd64 || arm64)

package main

import "syscall"

// stdoutAtStart is what fcntl said of standard output before the runtime began, which opens /dev/null in the place of a
// closed one: afterwards nothing tells it from a /dev/null that was given. 0 also where the program does not begin at
// start.
var stdoutAtStart int64

// start is assembly, and where the program begins: see Makefile.
//
//lint:ignore U1000 only the linker calls it
func start()

// stdoutWasClosed reports whether there is no standard output.
func stdoutWasClosed() bool { return stdoutAtStart == -int64(syscall.EBADF) }
