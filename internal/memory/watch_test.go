package memory

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScarceMemoryIsNoticed(t *testing.T) {
	const gb = 1 << 30
	var left, calls atomic.Int64
	left.Store(2 * gb)
	stop := watch(time.Millisecond, left.Load, func() int64 { return 10 * gb }, func() { calls.Add(1) })
	time.Sleep(20 * time.Millisecond)
	assert.Zero(t, calls.Load(), "a fifth of what is taken is there")
	left.Store(0)
	time.Sleep(20 * time.Millisecond)
	assert.Zero(t, calls.Load(), "nobody knows what is there")
	left.Store(gb)
	require.Eventually(t, func() bool { return calls.Load() > 0 }, 10*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	assert.EqualValues(t, 1, calls.Load())
	stop()

	asked := new(atomic.Int64)
	stop = watch(time.Millisecond, func() int64 { return asked.Add(1) * gb }, func() int64 { return gb }, nil)
	require.Eventually(t, func() bool { return asked.Load() > 0 }, 10*time.Second, time.Millisecond)
	stop()
	time.Sleep(20 * time.Millisecond)
	after := asked.Load()
	time.Sleep(20 * time.Millisecond)
	assert.Equal(t, after, asked.Load(), "nobody looks any longer")
}

func TestWhatIsTakenIsKnown(t *testing.T) {
	before := taken()
	require.Positive(t, before)
	block := make([]byte, 64<<20)
	for i := range block {
		block[i] = 1
	}
	assert.Greater(t, taken(), before+32<<20)
	_ = block[len(block)/2]
}
