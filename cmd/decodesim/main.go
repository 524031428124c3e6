// Command decodesim simulates LLM decode serving.
//
//	main.go      the commands, errors and exit statuses; start_*.go whether there is a standard output
//	run.go compare.go explain.go size.go sweep.go sensitivity.go validate.go calibrate.go import.go export.go list.go
//	show.go model.go workload.go workload_preset.go version.go
//	             a command each: its flags, what it refuses and what it calls
//	serve.go     the command that answers real clients
//	explore.go   the command that serves a page with controls
//	worker.go    the command that makes runs for others; queue.go how they have it do so
//	             size_queue.go and sweep_queue.go what of that is a search's and a sweep's
//	print.go     results go to stdout, and the names of files with them
//	stdin.go     a scenario comes from stdin; explain_values.go: flags of explain with several values
//	progress.go  the line of a terminal that says how far a command is
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/memory"
	"github.com/decodesim/decodesim/internal/run"
)

// The exit statuses: a failure is a run that broke, bad input one that never started.
const (
	exitOK       = 0
	exitFailure  = 1
	exitBadInput = 2
	exitSignal   = 128 // and the number of the signal, as a shell reports a program that one ended
)

// failed makes err one of a run under way; every other error is one of its input.
func failed(err error) error { return run.Failure{Err: err} }

func main() {
	if stdoutWasClosed() {
		fmt.Fprintln(os.Stderr, "decodesim: standard output is closed; expected somewhere to write to, such as > /dev/null")
		os.Exit(exitFailure)
	}
	ctx, stop := untilSignal(context.Background())
	status := execute(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status)
}

// interrupted is the signal that ended a command.
type interrupted struct{ by syscall.Signal }

func (i interrupted) Error() string { return "interrupted" }

// untilSignal returns a context that ends with the first signal to stop, which is its cause. A second one ends the
// process at once.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	drains := new(atomic.Bool)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, drainsKey{}, drains))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup asks
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s.(syscall.Signal)})
			time.AfterFunc(grace, func() { end(s.(syscall.Signal), drains) })
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// grace is how long a command has to end by itself after a signal.
const grace = 700 * time.Millisecond

// drainsKey is where a context has whether its command ends by itself after a signal, though it takes longer.
type drainsKey struct{}

// waitForDrain has the command of ctx end by itself after a signal.
func waitForDrain(ctx context.Context) {
	if drains, ok := ctx.Value(drainsKey{}).(*atomic.Bool); ok {
		drains.Store(true)
	}
}

// end ends a command that is still busy, perhaps in a loop that asks nobody. What it was building is not in place, and
// the next command with that --out removes it.
func end(by syscall.Signal, drains *atomic.Bool) {
	if drains.Load() {
		return
	}
	fmt.Fprintln(os.Stderr, "decodesim: interrupted")
	os.Exit(exitSignal + int(by))
}

// execute runs a command line, prints its error and returns the exit status.
func execute(ctx context.Context, out, errOut io.Writer, args []string) int {
	results := &watched{Writer: out}
	ctx = build.WithRoom(ctx, memory.Room)
	root := newRoot(results, errOut)
	root.SetArgs(spelt(args))
	err := root.ExecuteContext(ctx)
	if err == nil && results.err != nil { // some help is printed by a library that does not say so
		err = results.err
	}
	if err == nil {
		return exitOK
	}
	status, message := exitBadInput, err.Error()
	var failure run.Failure
	var by interrupted
	switch {
	case errors.Is(err, context.Canceled):
		status, message = exitSignal+int(syscall.SIGINT), "interrupted"
		if errors.As(context.Cause(ctx), &by) {
			status = exitSignal + int(by.by)
		}
	case errors.As(err, &failure), results.err != nil, diskFailed(err):
		status = exitFailure
	}
	fmt.Fprintf(errOut, "decodesim: %s\n", inputs.Escaped(shortened(strings.TrimSpace(message))))
	return status
}

// messageMax bounds a message, in bytes. What it repeats of a file may be as long as that file.
const messageMax = 16 << 10

// shortened leaves out the middle of a long message, which begins with where the mistake is and ends with what is
// expected.
func shortened(message string) string {
	if len(message) <= messageMax {
		return message
	}
	first, last := message[:messageMax/2], message[len(message)-messageMax/2:]
	return strings.ToValidUTF8(first, "") + " … " + strings.ToValidUTF8(last, "")
}

// watched is a writer that keeps the first error.
type watched struct {
	io.Writer
	err error
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// diskFailed reports whether a disk is full or broken, which no other input would mend.
func diskFailed(err error) bool {
	for _, failure := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EFBIG} {
		if errors.Is(err, failure) {
			return true
		}
	}
	return false
}

// spelt writes -tp and -pp, as engines have them, with the two dashes of a flag of several letters.
func spelt(args []string) []string {
	if len(args) == 0 || args[0] != "explain" {
		return args
	}
	words := slices.Clone(args)
	for i, word := range words {
		name, _, _ := strings.Cut(word, "=")
		if name == "-tp" || name == "-pp" {
			words[i] = "-" + word
		}
	}
	return words
}

func newRoot(out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "decodesim",
		Short: "Simulate LLM decode serving: what users feel, and what it costs",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SuggestionsMinimumDistance = 2
	root.Version = programVersion()
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(badFlag)
	root.AddCommand(newRun(out, errOut), newCompare(out, errOut), newExplain(out, errOut), newValidate(out, errOut),
		newCalibrate(out, errOut), newImport(out, errOut), newExport(out, errOut),
		newSize(out, errOut), newSweep(out, errOut), newSensitivity(out, errOut),
		newList(out), newShow(out), newModel(out), newWorkload(out, errOut), newVersion(out), newWorker(errOut))
	root.AddCommand(newServe(out, errOut), newExplore(errOut))
	root.SetHelpCommand(newHelp())
	return root
}

// newHelp returns the command that says what another one does. The library's own takes a name that no command has for
// none at all.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say what a command does",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, _, err := c.Root().Find(args); err == nil {
				for _, sub := range of.Commands() {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// flagHint says how to say what an unknown flag is meant to say: by the flag that was perhaps meant, or by --set if it
// is a key of a scenario or what a load tester calls one; empty: it is neither.
func flagHint(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	name := cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName())
	if flag := flagCalled(name); flag != "" && c.Flags().Lookup(flag) != nil {
		return fmt.Sprintf("did you mean --%s? ", flag)
	}
	if c.Flags().Lookup("set") != nil {
		if hint := asKey(strings.ReplaceAll(name, "-", "_")); hint != "" {
			return hint
		}
	}
	var have []string
	c.Flags().VisitAll(func(f *pflag.Flag) { have = append(have, f.Name) })
	if near := strict.Suggest(name, have); near != "" {
		return fmt.Sprintf("did you mean --%s? ", near)
	}
	return ""
}

// asKey says how --set says a key, of a scenario, of a pool or of a part of either.
func asKey(key string) string {
	key = cmp.Or(strict.Synonym(key), key)
	if at := loadTesterKey(key); at != "" {
		return fmt.Sprintf("--set %s=… says it; ", at)
	}
	if key == "speculation" { // any of its keys alone is refused: a method wants drafts, and these an acceptance
		return "say it as in " + configs.SpeculationExample + "; "
	}
	scenario := reflect.TypeFor[configs.Scenario]()
	if _, ok := strict.FieldNamed(strict.FieldsOf(scenario), key); ok {
		return fmt.Sprintf("--set %s=… says it; ", key)
	}
	if _, ok := strict.FieldNamed(strict.FieldsOf(reflect.TypeFor[configs.Pool]()), key); ok {
		return fmt.Sprintf("--set pools.serve.%s=… says it of the pool called serve; ", key)
	}
	at := slices.DeleteFunc(strict.Places(scenario, key), func(path string) bool {
		return !strings.HasPrefix(path, "workload.") // elsewhere a word of a flag means something else
	})
	if len(at) == 0 {
		return ""
	}
	return fmt.Sprintf("--set %s=… says it; ", strings.Join(at, "=… or "))
}

// loadTesterKey returns the key of the workload for a word that load testers, such as vLLM's benchmark, have for it;
// empty: it is none of theirs.
func loadTesterKey(word string) string {
	switch word {
	case "rate", "request_rate", "qps", "rps":
		return "workload.arrivals.rate"
	case "num_prompts", "num_requests", "request_count":
		return "workload.requests"
	case "max_concurrency", "num_concurrent_requests":
		return "workload.closed_loop.concurrency"
	case "prompt_tokens":
		return "workload.prompt_tokens"
	case "output", "output_tokens":
		return "workload.output_tokens"
	}
	return ""
}

// badValue is how the flag library refuses a value: quoted, and the flag.
var badValue = regexp.MustCompile(`^invalid argument (".*") for "(?:-., )?--([a-z-]+)" flag: `)

// badFlag says what a flag takes, in place of how its value failed to parse.
func badFlag(c *cobra.Command, err error) error {
	if before := c.Flags().Args(); !c.HasParent() && len(before) > 0 { // the flag is that of the command meant
		return unknownCommand(c, before[0])
	}
	m := badValue.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%w; %ssee %s --help", err, flagHint(c, err), c.CommandPath())
	}
	want := "another value"
	switch c.Flags().Lookup(m[2]).Value.Type() {
	case "uint64":
		want = fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64))
	case "int":
		want = "a whole number"
	case "float64":
		want = "a number"
	case "duration":
		want = "a time such as 90s or 5m"
	case "bool":
		want = "true or false"
	}
	return fmt.Errorf("--%s %s: expected %s; see %s --help", m[2], m[1], want, c.CommandPath())
}

func unknownCommand(root *cobra.Command, name string) error {
	for _, c := range root.Commands() {
		for _, sub := range c.Commands() {
			if sub.Name() == name && !sub.Hidden {
				return fmt.Errorf("unknown command %q; did you mean %q?", name, c.Name()+" "+name)
			}
		}
	}
	switch ext := filepath.Ext(name); {
	case slices.Contains(configs.ScenarioNames(), name), ext == ".yaml", ext == ".yml":
		return fmt.Errorf("unknown command %q; did you mean %q?", name, "run "+name)
	case slices.Contains(configs.StudyNames(), name):
		return fmt.Errorf("unknown command %q; did you mean %q?", name, "size "+name)
	}
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", name, near[0])
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q; valid names: %s", name, strings.Join(names, ", "))
}

// noArguments refuses any.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: %q is one argument too many; expected none", c.Name(), args[0])
	}
	return nil
}

// oneArgument requires one argument and says which.
func oneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return fmt.Errorf("%s: missing %s; see %s --help", c.Name(), what, c.CommandPath())
		}
		return fmt.Errorf("%s: %q is one argument too many; expected only %s", c.Name(), args[1], what)
	}
}
