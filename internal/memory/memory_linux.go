package memory

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Available returns the bytes of memory that this process can still take: what the system has, a limit of its control
// group and one on its addresses (ulimit -v), whichever is least; 0: unknown.
func Available() int64 {
	least := int64(math.MaxInt64)
	for _, of := range []func() (int64, bool){systemMemory, groupMemory, addressMemory} {
		if n, ok := of(); ok {
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return max(1, least)
}

// systemMemory is MemAvailable of /proc/meminfo, in KiB there (proc(5)).
func systemMemory() (int64, bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// groupMemory is what is left of the limit of the control group that a container is (cgroup v2, memory.max).
func groupMemory() (int64, bool) {
	limit, ok := number("/sys/fs/cgroup/memory.max")
	used, known := number("/sys/fs/cgroup/memory.current")
	return limit - used, ok && known
}

func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil // no number: max, which is no limit
}

// addressMemory is what is left of the limit on addresses, of which a program of Go takes about a GiB before it does
// anything. How many pages are taken comes first in /proc/self/statm (proc(5)).
func addressMemory() (int64, bool) {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &l) != nil || l.Cur > math.MaxInt64>>1 {
		return 0, false
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	pages, _, _ := strings.Cut(string(text), " ")
	taken, err := strconv.ParseInt(pages, 10, 64)
	return int64(l.Cur) - taken*int64(os.Getpagesize()), err == nil
}
