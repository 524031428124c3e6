#include "textflag.h"

// start is where a program built with -ldflags "-E main.start" begins. fcntl is call 25, F_GETFD its command 1.
TEXT ·start(SB), NOSPLIT|NOFRAME, $0
	MOVD $25, R8
	MOVD $1, R0
	MOVD $1, R1
	SVC
	MOVD R0, ·stdoutAtStart(SB)
	B    _rt0_arm64_linux(SB)
