package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs/catalog"
)

// stdinFor reads the scenario that comes on stdin where the command's argument is -. A signal ends the wait for it.
func stdinFor(c *cobra.Command, args []string) ([]byte, error) {
	if len(args) != 1 || args[0] != "-" {
		return nil, nil
	}
	data, err := awaited(c.Context(), func() ([]byte, error) {
		return io.ReadAll(io.LimitReader(c.InOrStdin(), catalog.SizeMax+1))
	})
	switch {
	case errors.Is(err, context.Canceled):
		return nil, err
	case len(data) > catalog.SizeMax:
		return nil, fmt.Errorf("stdin: longer than %d bytes (4 MiB); expected a scenario", catalog.SizeMax)
	case err != nil:
		return nil, fmt.Errorf("stdin: %w", err)
	}
	return append([]byte{}, data...), nil
}

// awaited returns what work makes. After a signal nobody waits for it any longer: it may be a read that has no end, and
// it leaves nothing.
func awaited[T any](ctx context.Context, work func() (T, error)) (made T, err error) {
	type result struct {
		made T
		err  error
	}
	done := make(chan result, 1)
	go func() {
		made, err := work()
		done <- result{made, err}
	}()
	select {
	case <-ctx.Done():
		return made, context.Canceled
	case r := <-done:
		return r.made, r.err
	}
}
