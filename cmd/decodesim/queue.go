package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/workers"
)

// queueFlags say which processes make the runs of a command, instead of its own.
type queueFlags struct {
	workers            int
	listen, url        string
	cert, key          string
	tokenFile, ca, pin string
	replicas           int
}

// connection adds the flags with which a queue is reached that somebody else serves.
func (f *queueFlags) connection(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token of the queue, if its URL has none")
	flags.StringVar(&f.ca, "tls-ca", "",
		"`FILE` of the authorities that vouch for the queue's certificate; none: the system's")
}

func (f *queueFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.IntVar(&f.workers, "workers", 0, "have `N` processes of this machine make the runs, which share its cores")
	flags.StringVar(&f.listen, "listen", "",
		"serve a queue of runs at `HOST:PORT` for decodesim worker on other machines; beyond loopback by TLS")
	flags.StringVar(&f.url, "queue", "", "the queue is in the NATS servers at `URL`, not in this process")
	f.connection(flags)
	flags.StringVar(&f.cert, "tls-cert", "", "`FILE` of the certificate of --listen; none: one is made")
	flags.StringVar(&f.key, "tls-key", "", "`FILE` of its key")
	flags.IntVar(&f.replicas, "queue-replicas", 0,
		"`COPIES` of the queue among the servers of --queue: 1, 3 or 5; without, 3 where there are as many servers")
	for _, name := range []string{"listen", "queue"} {
		cobra.CheckErr(c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// used reports whether other processes are to make the runs.
func (f *queueFlags) used() bool { return f.workers > 0 || f.listen != "" || f.url != "" }

// workersMax is the most processes that one command starts.
const workersMax = 1000

// check refuses flags that cannot be meant.
func (f *queueFlags) check(c *cobra.Command) error {
	if f.workers < 0 || f.workers > workersMax || f.workers == 0 && c.Flags().Changed("workers") {
		return fmt.Errorf("--workers %d: expected 1 to %d", f.workers, workersMax)
	}
	for _, of := range []struct {
		other string
		names []string
		given bool
	}{
		{"--listen", []string{"tls-cert", "tls-key"}, f.listen != ""},
		{"--queue", []string{"token-file", "tls-ca", "queue-replicas"}, f.url != ""},
	} {
		for _, name := range of.names {
			if c.Flags().Changed(name) && !of.given {
				return fmt.Errorf("--%s stands without %s, which it is about", name, of.other)
			}
		}
	}
	switch {
	case f.url != "" && f.listen != "":
		return errors.New("--queue stands beside --listen; expected one of them")
	case c.Flags().Changed("queue-replicas") && f.replicas != 1 && f.replicas != 3 && f.replicas != 5:
		return fmt.Errorf("--queue-replicas %d: expected 1, 3 or 5", f.replicas)
	}
	return nil
}

// address is the queue of --queue.
func (f *queueFlags) address() (workers.Address, error) {
	a := workers.Address{URL: f.url, CA: f.ca, Pin: f.pin}
	if f.tokenFile == "" {
		return a, nil
	}
	text, err := inputs.ReadShort(f.tokenFile)
	if err != nil {
		return a, fmt.Errorf("--token-file: %w", err)
	}
	a.Token = strings.TrimSpace(string(text))
	if a.Token == "" {
		return a, fmt.Errorf("--token-file %s is empty; expected a token", f.tokenFile)
	}
	return a, nil
}

// opened is a queue that a command has opened, and how its own workers reach it.
type opened struct {
	*workers.Queue
	server *workers.Server // nil: somebody else serves the queue
	join   []string        // arguments of decodesim worker
	hired  int             // workers of its own
}

// open opens the queue. Its streams are in dir if it is one of ours.
func (f *queueFlags) open(errOut io.Writer, dir string) (*opened, error) {
	if f.url != "" {
		a, err := f.address()
		if err != nil {
			return nil, err
		}
		q, err := a.Open(f.replicas)
		if err != nil {
			return nil, err
		}
		q.Say = func(format string, values ...any) { fmt.Fprintf(errOut, "decodesim: "+format+"\n", values...) }
		join := []string{f.url}
		for flag, value := range map[string]string{"--token-file": f.tokenFile, "--tls-ca": f.ca} {
			if value != "" {
				join = append(join, flag, value)
			}
		}
		return &opened{Queue: q, join: join, hired: f.workers}, nil
	}
	at := f.listen
	if at == "" {
		at = "127.0.0.1:0"
	}
	s, err := workers.Serve(workers.Listen{Address: at, Dir: dir, Cert: f.cert, Key: f.key})
	if err != nil {
		return nil, err
	}
	q, err := s.Own()
	if err != nil {
		s.Close()
		return nil, err
	}
	x := &opened{q, s, []string{s.URL(), "--token-file", s.TokenFile}, f.workers}
	pin := ""
	if s.Pin != "" {
		x.join = append(x.join, "--pin", s.Pin)
		pin = " --pin " + s.Pin
	}
	if f.listen != "" {
		fmt.Fprintf(errOut, "decodesim: workers join by: decodesim worker %s%s\n",
			strings.Replace(s.URL(), "://", "://"+s.Token+"@", 1), pin)
	}
	return x, nil
}

// close closes the queue, and ends the server if it is ours.
func (x *opened) close() {
	x.Close()
	if x.server != nil {
		x.server.Close()
	}
}

// crew is worker processes of this machine. A process that ends over a run is replaced.
type crew struct {
	all  sync.WaitGroup
	stop context.CancelFunc
	fail context.CancelCauseFunc
}

// hire starts the workers, which end with this process too. One that refuses to work cancels ctx, and so does a full
// disk below a queue of ours.
func (x *opened) hire(ctx context.Context, errOut io.Writer, fail context.CancelCauseFunc) (*crew, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w := &crew{stop: stop, fail: fail}
	if x.server != nil {
		w.all.Go(func() {
			if err := x.server.Full(ctx); err != nil {
				fail(err)
			}
		})
	}
	said := &lines{to: errOut}
	for range x.hired {
		w.all.Go(func() {
			for ctx.Err() == nil {
				w.one(ctx, self, x.join, max(1, runtime.GOMAXPROCS(0)/x.hired), said)
			}
		})
	}
	return w, nil
}

// one starts a worker and waits until it ends.
func (w *crew) one(ctx context.Context, self string, join []string, cores int, said io.Writer) {
	c := exec.CommandContext(ctx, self, append([]string{"worker", "--quiet", "--leashed"}, join...)...)
	c.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", cores))
	c.Stderr = said
	leash, err := c.StdinPipe() // it ends when this process does
	if err != nil {
		w.fail(err)
		return
	}
	c.Cancel = leash.Close
	c.WaitDelay = 5 * time.Second
	err = c.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
	case err != nil && !errors.As(err, &exit):
		w.fail(fmt.Errorf("a worker cannot be started: %w", err))
	case err == nil, exit.ExitCode() == exitBadInput, exit.ExitCode() == exitFailure:
		w.fail(fmt.Errorf("a worker has refused to work: %v", err))
	default:
		fmt.Fprintf(said, "decodesim: a worker has ended: %s; another takes its place\n", exit)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
}

func (w *crew) end() {
	w.stop()
	w.all.Wait()
}

// lines lets several processes write to one place.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(text)
}
