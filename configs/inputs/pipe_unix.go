//go:build unix

package inputs

import "syscall"

// unawaited has a pipe open at once, although nobody writes to it.
const unawaited = syscall.O_NONBLOCK
