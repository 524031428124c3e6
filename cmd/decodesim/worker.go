package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/workers"
)

func newWorker(errOut io.Writer) *cobra.Command {
	var f queueFlags
	var idle time.Duration
	var quiet, leashed bool
	c := &cobra.Command{
		Use:   "worker URL",
		Short: "Make runs for a sweep or a search on another machine",
		Long: `Take runs of sweeps and searches from the queue at URL, as decodesim sweep --listen or size --listen prints it, and make
them over all cores until a signal comes. The queue has the scenario and the files that they read; a worker needs the
same binary and nothing else. It waits for a queue that is not there yet or not there any more, and for the next job.

A worker may end, be killed or be suspended at any instant: another one makes what it was working on.`,
		Example: "  decodesim worker tls://TOKEN@planner.example.com:4222 --pin 5e9f…\n" +
			"  decodesim worker nats://127.0.0.1:4222 --token-file out/sweep.queue/token --idle 5m",
		Args: oneArgument("the URL of a queue: nats://HOST:PORT or tls://HOST:PORT"),
		RunE: func(c *cobra.Command, args []string) error {
			if idle < 0 {
				return fmt.Errorf("--idle %s: expected no negative time", idle)
			}
			f.url = args[0]
			a, err := f.address()
			if err != nil {
				return err
			}
			w := &workers.Worker{Address: a, Version: programVersion(), Strict: leashed, Idle: idle,
				Open: openJob}
			w.Say = func(format string, values ...any) {
				if !quiet {
					fmt.Fprintf(errOut, "decodesim: "+format+"\n", values...)
				}
			}
			ctx := c.Context()
			if leashed {
				ctx = untilClosed(ctx, c.InOrStdin())
			}
			err = w.Work(ctx)
			var other *workers.Differs
			if errors.As(err, &other) {
				return failed(err)
			}
			if leashed && errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	}
	flags := c.Flags()
	f.connection(flags)
	flags.StringVar(&f.pin, "pin", "", "`SHA256` of the queue's certificate, as the coordinator prints it")
	flags.DurationVar(&idle, "idle", 0, "end after so `LONG` without anything to do; 0: never")
	flags.BoolVar(&quiet, "quiet", false, "print errors only")
	flags.BoolVar(&leashed, "leashed", false, "end when stdin is closed")
	cobra.CheckErr(flags.MarkHidden("leashed"))
	return c
}

// untilClosed returns a context that ends with r too.
func untilClosed(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	return ctx
}

// openJob opens a job in the directory that has its files.
func openJob(j *workers.Job) (workers.Maker, error) {
	switch j.Kind {
	case sweepJob:
	case sizeJob:
		var p sizing.Plan
		if err := json.Unmarshal(j.Spec, &p); err != nil {
			return nil, err
		}
		return p.Open()
	default:
		return nil, fmt.Errorf("expected a job of kind %q or %q", sweepJob, sizeJob)
	}
	var p sweep.Plan
	if err := json.Unmarshal(j.Spec, &p); err != nil {
		return nil, err
	}
	s, _, err := sweep.New(context.Background(), p)
	if err != nil {
		return nil, err
	}
	return s, s.Same(context.Background(), j.ID)
}
