package main

import (
	"context"
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
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(c.InOrStdin(), catalog.SizeMax+1))
		done <- read{data, err}
	}()
	select {
	case <-c.Context().Done():
		return nil, context.Canceled
	case r := <-done:
		if len(r.data) > catalog.SizeMax {
			return nil, fmt.Errorf("stdin: longer than %d bytes (4 MiB); expected a scenario", catalog.SizeMax)
		}
		if r.err != nil {
			return nil, fmt.Errorf("stdin: %w", r.err)
		}
		return append([]byte{}, r.data...), nil
	}
}
