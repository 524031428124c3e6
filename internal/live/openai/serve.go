package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve serves the fleet until ctx is done: the first listener the whole of it, each other one the replica of its
// number. Requests under way then have a while to end. It returns when the last of them has.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener, grace time.Duration) error {
	looping, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	failed := make(chan error, 1+len(listeners))
	go func() {
		defer close(stopped)
		if err := s.loop.Run(looping); err != nil {
			failed <- err
		}
	}()
	servers := make([]*http.Server, len(listeners))
	for i, l := range listeners {
		servers[i] = s.HTTP(s.Handler(i - 1))
		go func() { failed <- servers[i].Serve(s.Listener(l)) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	draining, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.Drain(draining)
	for _, server := range servers {
		err = errors.Join(err, ignoreTimeout(server.Shutdown(draining)), server.Close())
	}
	stop()
	<-stopped
	return err
}

// ignoreTimeout drops the error of connections that are still open when their time is over: they are closed then.
func ignoreTimeout(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
