package workers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// A server of ours says nothing of a disk that is full: it stores nothing more, and what asks it waits without end.
	probeEvery = time.Second

	// roomBytes is what a message or two take.
	roomBytes = 64 << 10
)

// Full waits until there is no room for the streams of a server, and returns why; nil: ctx has ended before.
func (s *Server) Full(ctx context.Context) error {
	again := time.NewTicker(probeEvery)
	defer again.Stop()
	for {
		if err := s.room(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the queue cannot be written any more: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// room writes a file beside the streams, as long as they will soon need.
func (s *Server) room() error {
	name := filepath.Join(s.dir, streamsName, "room")
	err := os.WriteFile(name, make([]byte, roomBytes), 0o600)
	_ = os.Remove(name)
	return err
}
