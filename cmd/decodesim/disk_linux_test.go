package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/decodesim/decodesim/internal/soak"
)

// TestAFullDiskEndsACommandWithItsOwnStatus writes to a file system of 2 MiB, which only root may mount.
func TestAFullDiskEndsACommandWithItsOwnStatus(t *testing.T) {
	inDir(t, handed)
	require.NoError(t, os.Mkdir("disk", 0o755))
	if err := unix.Mount("tmpfs", "disk", "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	defer func() { assert.NoError(t, unix.Unmount("disk", unix.MNT_DETACH)) }()
	require.NoError(t, os.WriteFile("disk/notes.txt", []byte("mine"), 0o600))
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"run chat.yaml --out disk/new", exitFailure, "no space left on device"},
		{"run chat.yaml --out disk/a/b/c", exitFailure, "no space left on device"},
		{"run chat.yaml --out disk", exitFailure, "no space left on device"},
		{"run chat.yaml --headroom off --set workload.requests=6000 --trace-window 0s:600s --trace disk/t.json", exitFailure,
			"no space left on device"},
		{"sweep chat.yaml --over rate=1,2 --out disk/sweep", exitFailure, "no space left on device"},
		{"compare chat.yaml --with pools.decode.replicas=3 --out disk/compare", exitFailure, "no space left on device"},
	} {
		status, _, errOut := try(strings.Fields(c.args)...)
		assert.Equal(t, c.status, status, c.args)
		assert.Contains(t, errOut, c.says, c.args)
		assert.Equal(t, 1, strings.Count(errOut, "decodesim: "), "%s: one error: %s", c.args, errOut)
		assert.Equal(t, []string{"notes.txt"}, namesIn(t, "disk"), "%s leaves nothing", c.args)
	}
	require.NoError(t, unix.Mount("", "disk", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, args := range []string{"run chat.yaml --out disk/new", "run chat.yaml --trace disk/trace.json"} {
		status, _, errOut := try(strings.Fields(args)...)
		assert.Equal(t, exitBadInput, status, "another directory would do")
		assert.Contains(t, errOut, "read-only file system")
	}
}

// TestAFullDiskBelowAQueueEndsTheSearch: its workers, which learn nothing of that, were waited for without end.
func TestAFullDiskBelowAQueueEndsTheSearch(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, handed)
	require.NoError(t, os.Mkdir("disk", 0o755))
	if err := unix.Mount("tmpfs", "disk", "tmpfs", 0, "size=100k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	defer func() { assert.NoError(t, unix.Unmount("disk", unix.MNT_DETACH)) }()
	require.NoError(t, os.WriteFile("study.yaml", []byte(distributed), 0o600))
	c := program(t, "size", "study.yaml", "--workers", "1")
	disk, err := filepath.Abs("disk")
	require.NoError(t, err)
	c.Env = append(c.Environ(), "TMPDIR="+disk)
	var said strings.Builder
	c.Stderr = &said
	require.Error(t, c.Run())
	assert.Equal(t, exitFailure, c.ProcessState.ExitCode(), said.String())
	assert.Contains(t, said.String(), "no space left on device")
	assert.Empty(t, namesIn(t, "disk"))
}

// TestAFullStdoutEndsACommandWithItsOwnStatus: whatever prints, help included.
func TestAFullStdoutEndsACommandWithItsOwnStatus(t *testing.T) {
	inDir(t, handed)
	for _, args := range []string{"run chat.yaml --headroom off", "list gpus", "show chat-8b", "version", "--help",
		"run --help", "explain chat.yaml", "run chat.yaml --headroom off --trace /dev/full"} {
		c := program(t, strings.Fields(args)...)
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		var said strings.Builder
		c.Stdout, c.Stderr = full, &said
		require.Error(t, c.Run(), args)
		require.NoError(t, full.Close())
		assert.Equal(t, exitFailure, c.ProcessState.ExitCode(), args)
		assert.Contains(t, said.String(), "no space left on device", args)
	}
	at, err := os.Stat(filepath.Clean("/dev/full"))
	require.NoError(t, err)
	assert.NotZero(t, at.Mode()&os.ModeDevice)
}

// TestAClosedStdoutIsNoticed by what a program begins with: Go's runtime has put /dev/null in its place when main runs.
// The /dev/null that others give, for reading and writing too, is none.
func TestAClosedStdoutIsNoticed(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("this processor has no beginning of its own")
	}
	dir := t.TempDir()
	for _, name := range []string{"start_linux.go", "start_linux_amd64.s", "start_linux_arm64.s"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	for name, text := range map[string]string{
		"main.go": "package main\n\nfunc main() {\n\tif stdoutWasClosed() {\n\t\tpanic(\"closed\")\n\t}\n}\n",
		"go.mod":  "module small\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	require.Contains(t, string(makefile), "-E main.start")
	build := exec.Command("go", "build", "-pgo=off", "-ldflags=-E main.start", "-o", "small", ".")
	build.Dir = dir
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	for redirected, closed := range map[string]bool{">&-": true, "<&- >&- 2>&-": true, ">/dev/null": false, "": false,
		"<>/dev/null 1<>/dev/null": false, "<&-": false} {
		err := exec.Command("sh", "-c", `exec "$0" `+redirected, filepath.Join(dir, "small")).Run()
		assert.Equal(t, closed, err != nil, redirected)
	}
}
