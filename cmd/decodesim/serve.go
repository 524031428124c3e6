package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/internal/live/openai"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/results"
	"github.com/decodesim/decodesim/internal/run"
)

// serveFlags are the flags of decodesim serve.
type serveFlags struct {
	runFlags // out, json, set and seed
	host     string
	port     int
	replicas int // first port of the replicas; 0: they have none
	model    string
	key      string
	keyFile  string
	speed    float64
	grace    time.Duration
	bytes    int
	limits   openai.Limits
}

func newServe(out, errOut io.Writer) *cobra.Command {
	f := serveFlags{limits: openai.DefaultLimits()}
	c := &cobra.Command{
		Use:   "serve SCENARIO",
		Short: "Answer real clients as the simulated deployment would",
		Long: "Serve the simulated deployment of a scenario as an OpenAI-compatible endpoint, on the simulator's clock.\n\n" +
			"Real requests enter the simulation when they come, and tokens leave it when they are due. Outputs are as\n" +
			"long as workload.output_tokens says, cut at max_tokens. A signal ends the service when what is under way has\n" +
			"ended, with status 0; then the summary is printed and, with --out, the files of a run are written, and a\n" +
			"trace that run replays. A second signal ends it at once, with the status of that signal.",
		Example: "  decodesim serve chat-8b\n" +
			"  decodesim serve chat-70b --port 9000 --speed 4 --out served\n" +
			"  decodesim serve chat-8b --set pools.serve.replicas=4 --per-replica-ports 8001",
		Args:              oneArgument("a scenario: a name or a path to a YAML file"),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(outNamed(c), f.check()); err != nil {
				return err
			}
			options := configs.Options{Set: f.set, Env: os.Environ()}
			if c.Flags().Changed("seed") {
				options.Seed = &f.seed
			}
			return f.serve(c.Context(), out, errOut, args[0], options)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.host, "host", "127.0.0.1", "`ADDRESS` to listen on; beyond this machine a token is demanded")
	flags.IntVar(&f.port, "port", 8000, "to listen on; 0: one that is free")
	flags.IntVar(&f.replicas, "per-replica-ports", 0,
		"`FIRST` port of the replicas' own endpoints, one after the other, for a gateway in front of them")
	flags.StringVar(&f.model, "served-model-name", "", "`NAME` by which clients ask for the model, if not the scenario's")
	flags.StringVar(&f.key, "api-key", "", "`TOKEN` that clients must send")
	flags.StringVar(&f.keyFile, "api-key-file", "", "`FILE` with that token")
	flags.Float64Var(&f.speed, "speed", 1, "simulated seconds in a second")
	flags.DurationVar(&f.grace, "grace", 30*time.Second, "for requests under way to end after a signal")
	flags.IntVar(&f.bytes, "bytes-per-token", 4, "bytes of text that count as a token")
	flags.IntVar(&f.limits.Streams, "max-streams", f.limits.Streams, "requests under way at once")
	flags.Float64Var(&f.limits.RatePerS, "max-rate", 0, "requests/s; 0: no limit")
	flags.Int64Var(&f.limits.BodyBytes, "max-body", f.limits.BodyBytes, "bytes of a request")
	flags.StringVar(&f.out, "out", "", "write the files of a run, and the trace of what was served, to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON instead of the table")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario's; repeatable, such as pools.serve.replicas=3")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	return c
}

// How fast the clock may go, in simulated seconds a second.
const speedMin, speedMax = 0.001, 10000.0

// check refuses flags that cannot be meant.
func (f *serveFlags) check() error {
	switch {
	case !(f.speed >= speedMin && f.speed <= speedMax):
		return fmt.Errorf("--speed %g: expected a number from %g to %g", f.speed, speedMin, speedMax)
	case f.port < 0 || f.port > 65535:
		return fmt.Errorf("--port %d: expected a port from 0 to 65535", f.port)
	case f.replicas < 0 || f.replicas > 65535:
		return fmt.Errorf("--per-replica-ports %d: expected a port from 1 to 65535", f.replicas)
	case f.bytes < 2 || f.bytes > 64:
		return fmt.Errorf("--bytes-per-token %d: expected 2 to 64", f.bytes)
	case f.limits.Streams < 1:
		return fmt.Errorf("--max-streams %d: expected at least 1", f.limits.Streams)
	case !(f.limits.RatePerS >= 0 && f.limits.RatePerS <= 1e6):
		return fmt.Errorf("--max-rate %g: expected requests/s from 0 to 1000000", f.limits.RatePerS)
	case f.limits.BodyBytes < 1<<10 || f.limits.BodyBytes > 1<<30:
		return fmt.Errorf("--max-body %d: expected bytes from 1024 to 1073741824", f.limits.BodyBytes)
	case f.model != "" && !inputs.PrintableName(f.model):
		return fmt.Errorf("--served-model-name %q: expected a name without characters that do not print", f.model)
	case len(f.model) > strict.TextMax:
		return fmt.Errorf("--served-model-name has %d bytes; expected at most %d", len(f.model), strict.TextMax)
	case f.grace < 0:
		return fmt.Errorf("--grace %s: expected no negative time", f.grace)
	case f.key != "" && f.keyFile != "":
		return errors.New("--api-key stands beside --api-key-file; expected one of them")
	}
	if f.keyFile == "" {
		return nil
	}
	text, err := inputs.ReadShort(f.keyFile)
	if err != nil {
		return fmt.Errorf("--api-key-file: %w", err)
	}
	f.key = strings.TrimSpace(string(text))
	if f.key == "" {
		return fmt.Errorf("--api-key-file %s is empty; expected a token", f.keyFile)
	}
	return nil
}

// serve serves a scenario until ctx is done.
func (f *serveFlags) serve(ctx context.Context, out, errOut io.Writer, scenario string,
	options configs.Options) (err error) {
	s, err := configs.Load(scenario, options)
	if err != nil {
		return err
	}
	b, err := build.NewLive(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	ears, err := f.listen(b)
	if err != nil {
		return err
	}
	recorded, err := openRecorded(f.out, b)
	if err != nil {
		return errors.Join(err, ears.close())
	}
	defer recorded.abandon()
	fleet, err := live.New(b, live.Options{Version: programVersion(), Rows: recorded.rows, Trace: recorded.writer()})
	if err != nil {
		return errors.Join(err, ears.close())
	}
	clock := live.NewClock(f.speed)
	loop := live.NewLoop(fleet, clock)
	server := openai.New(loop, clock, f.config(b, ears.local))
	ears.announce(errOut, f, b)
	waitForDrain(ctx)
	if err := server.Serve(ctx, ears.list, f.grace); err != nil {
		return failed(err)
	}
	return f.finish(out, errOut, b, loop, recorded)
}

// config returns how the deployment of b is served.
func (f *serveFlags) config(b *build.Built, local bool) openai.Config {
	c := openai.Config{Model: f.model, Root: b.Deployment.Model.Name, Longest: b.Config.Pools[0].MaxModelLen,
		Version: programVersion(), Key: f.key, Local: local, Bytes: f.bytes, Limits: f.limits}
	if c.Model == "" {
		c.Model = c.Root
	}
	for _, p := range b.Config.Pools {
		c.Adapters = len(p.Adapters.Copies)
		c.Longest = min(c.Longest, p.MaxModelLen)
	}
	return c
}

// ears are what the service listens on.
type ears struct {
	list  []net.Listener
	local bool // they hear this machine alone
}

// listen opens the port of the fleet and those of its replicas.
func (f *serveFlags) listen(b *build.Built) (e ears, err error) {
	addresses, err := net.LookupIP(f.host)
	if err != nil {
		return e, fmt.Errorf("--host %q is no address of this machine; expected one such as 127.0.0.1 or 0.0.0.0", f.host)
	}
	e.local = addresses[0].IsLoopback()
	if !e.local && f.key == "" {
		return e, fmt.Errorf("--host %s can be reached from other machines: expected --api-key or --api-key-file beside it",
			f.host)
	}
	ports := []int{f.port}
	if f.replicas > 0 {
		if len(b.Config.Pools) > 1 {
			return e, fmt.Errorf("--per-replica-ports: %d pools share the work on a request; expected a scenario with one",
				len(b.Config.Pools))
		}
		for i := range max(b.Config.Pools[0].Size, b.Config.Pools[0].SizeMax) {
			ports = append(ports, f.replicas+i)
		}
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(port)))
		if err != nil {
			return e, errors.Join(err, e.close())
		}
		e.list = append(e.list, l)
	}
	return e, nil
}

func (e *ears) close() (err error) {
	for _, l := range e.list {
		err = errors.Join(err, l.Close())
	}
	return err
}

// announce says where the service is.
func (e *ears) announce(w io.Writer, f *serveFlags, b *build.Built) {
	fmt.Fprintf(w, "serving %s at http://%s/v1", b.Scenario.Name, e.list[0].Addr())
	if f.speed != 1 {
		fmt.Fprintf(w, ", %g simulated seconds in a second", f.speed)
	}
	if n := len(e.list) - 1; n > 0 {
		fmt.Fprintf(w, ", its replicas at ports %d to %d", f.replicas, f.replicas+n-1)
	}
	fmt.Fprintln(w, "; a signal ends it")
}

// recorded is where the trace of what is served goes; nothing, without a directory.
type recorded struct {
	dir   *output.Dir
	spool *os.File
	rows  int
}

// openRecorded opens the directory that the files of the service are to be in.
func openRecorded(path string, b *build.Built) (x *recorded, err error) {
	x = &recorded{}
	if path == "" {
		return x, nil
	}
	x.dir, err = output.Open(path, "trace.jsonl")
	if err != nil {
		return x, err
	}
	x.rows = run.RowsOf(b.Scenario)
	x.spool, err = os.CreateTemp("", "decodesim-trace-")
	if err != nil {
		x.dir.Abandon()
		return x, err
	}
	_ = os.Remove(x.spool.Name()) // a process that is killed leaves none; where it has to have a name, abandon removes it
	return x, nil
}

func (x *recorded) writer() io.Writer {
	if x.spool == nil {
		return nil
	}
	return x.spool
}

// abandon removes what is not wanted any more.
func (x *recorded) abandon() {
	if x.spool != nil {
		_ = x.spool.Close()
		_ = os.Remove(x.spool.Name())
	}
	if x.dir != nil {
		x.dir.Abandon()
	}
}

// finish prints and writes what was served.
func (f *serveFlags) finish(out, errOut io.Writer, b *build.Built, loop *live.Loop, x *recorded) error {
	trace, err := filepath.Abs("trace.jsonl")
	if x.dir != nil && err == nil {
		trace, err = filepath.Abs(filepath.Join(x.dir.Path(), "trace.jsonl"))
	}
	if err != nil {
		return failed(err)
	}
	r, err := loop.Finish(trace)
	if err != nil {
		return failed(err)
	}
	if r.Summary.Requests.Arrived == 0 {
		fmt.Fprintln(errOut, "no request came: there is nothing to print or to write")
		return nil
	}
	result := &results.Result{Result: r}
	if x.dir != nil {
		if err := x.write(b, result); err != nil {
			return failed(err)
		}
	}
	return f.print(out, errOut, b, result, x.dir)
}

// write writes the files of a run and the trace.
func (x *recorded) write(b *build.Built, r *results.Result) error {
	err := x.dir.WriteFile("trace.jsonl", func(w io.Writer) error {
		if _, err := x.spool.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, x.spool)
		return err
	})
	if err != nil {
		return err
	}
	return results.WriteFiles(context.Background(), x.dir, b, r)
}
