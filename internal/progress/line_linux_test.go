package progress

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pseudoTerminal returns both ends of a terminal: what a program writes to the inner one, the outer one reads.
func pseudoTerminal(t *testing.T, columns int) (outer, inner *os.File) {
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = outer.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = inner.Close() })
	size := unix.Winsize{Row: 24, Col: uint16(columns)}
	require.NoError(t, unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, &size))
	return outer, inner
}

// written returns what is on its way to the outer end before a mark that is written now. A line that is drawn after
// the mark may be read with it, and is dropped.
func written(t *testing.T, outer, inner *os.File) string {
	const mark = "\x00"
	_, err := inner.WriteString(mark)
	require.NoError(t, err)
	var all strings.Builder
	b := make([]byte, 4096)
	for {
		n, err := outer.Read(b)
		require.NoError(t, err)
		all.Write(b[:n])
		if before, _, marked := strings.Cut(all.String(), mark); marked {
			return before
		}
	}
}

// TestALongCommandSaysHowFarItIs on a terminal: nothing in its first two seconds, then a line that a slow command
// keeps up to date, no wider than the terminal, and nothing at the end.
func TestALongCommandSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	outer, inner := pseudoTerminal(t, 40)
	l := On(inner)
	require.NotNil(t, l)
	l.Set(Work{Done: 3, Of: 60, Unit: "run", More: strings.Repeat("wide ", 20)})
	time.Sleep(patience / 2)
	assert.Empty(t, written(t, outer, inner))
	time.Sleep(patience/2 + 4*drawn)
	printed := written(t, outer, inner)
	lines := strings.Split(printed, clearLine)[1:]
	require.Greater(t, len(lines), 1, "%q", printed)
	for _, line := range lines {
		assert.True(t, strings.HasPrefix(line, "3 of 60 runs · "), line)
		assert.Less(t, len([]rune(line)), 40)
	}
	l.Clear()
	assert.True(t, strings.HasSuffix(written(t, outer, inner), clearLine))
}

// TestAShortCommandSaysNothing, and a file never gets a line.
func TestAShortCommandSaysNothing(t *testing.T) {
	t.Parallel()
	outer, inner := pseudoTerminal(t, 80)
	l := On(inner)
	l.Set(Work{Done: 1, Of: 2, Unit: "run"})
	time.Sleep(2 * drawn)
	l.Clear()
	assert.Empty(t, written(t, outer, inner))

	f, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer f.Close()
	none := On(f)
	assert.Nil(t, none)
	none.Set(Work{Done: 1})
	none.Clear()
}
