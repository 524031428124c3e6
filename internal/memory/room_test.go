package memory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoreMemoryThanThereIsIsRefused(t *testing.T) {
	require.NoError(t, room(100, 100))
	require.NoError(t, room(math.MaxInt64, 0), "nobody knows how much there is")
	require.EqualError(t, room(2e9, 2e9-1), "this would take 2.00 GB of memory more, and 2.00 GB are available")
	require.NoError(t, Room(1))
	if Available() > 0 {
		require.ErrorContains(t, Room(math.MaxInt64), "this would take 9223372036.85 GB of memory more, and ")
	}
}
