#include "textflag.h"

// start is where a program built with -ldflags "-E main.start" begins. fcntl is call 72, F_GETFD its command 1.
TEXT ·start(SB), NOSPLIT|NOFRAME, $0
	MOVQ $72, AX
	MOVQ $1, DI
	MOVQ $1, SI
	SYSCALL
	MOVQ AX, ·stdoutAtStart(SB)
	JMP  _rt0_amd64_linux(SB)
