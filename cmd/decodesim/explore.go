package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/explore"
	"github.com/decodesim/decodesim/internal/output"
)

// exploreScenario is what is explored where nobody says what.
const exploreScenario = "chat-8b"

func newExplore(errOut io.Writer) *cobra.Command {
	port, out, wasm := 0, "", ""
	c := &cobra.Command{
		Use:   "explore [SCENARIO]",
		Short: "Serve a page with controls for a scenario, on this machine alone, or write it as files",
		Long: "Serve a page on this machine with controls for a scenario: model, GPU, bandwidth, precision, tensor\n" +
			"parallelism, engine, replicas, load, speculation, and the batch and context of a step.\n\n" +
			"Each change says at once what binds a step of decoding, and is simulated. The address of the page is its\n" +
			"state, and what it copies as YAML is a scenario that run takes and that has the same numbers. Relative paths\n" +
			"in SCENARIO start from the working directory. A signal ends the service.\n\n" +
			"With --out the page is written as files, for a site that serves nothing but files: the simulator is beside\n" +
			"it as WebAssembly, from the directory of --wasm, which make site builds.",
		Example: "  decodesim explore\n" +
			"  decodesim explore pd-70b --port 9000\n" +
			"  decodesim explore chat-8b --out site",
		Args:              atMostOneScenario,
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if port < 0 || port > 65535 {
				return fmt.Errorf("--port %d: expected a port from 0 to 65535", port)
			}
			for _, other := range []string{"port", "wasm"} {
				if c.Flags().Changed(other) && (out != "") != (other == "wasm") {
					return fmt.Errorf("--%s: expected %s --out, which writes a page that nobody serves", other,
						map[string]string{"port": "no", "wasm": "an"}[other])
				}
			}
			if err := outNamed(c); err != nil {
				return err
			}
			text, err := exploredText(c, args)
			if err != nil {
				return err
			}
			if out != "" {
				return writeExplorer(errOut, text, out, wasm)
			}
			s, err := explore.New(text, os.Environ(), programVersion())
			if err != nil {
				return err
			}
			return serveExplorer(c.Context(), errOut, s, port)
		},
	}
	c.Flags().IntVar(&port, "port", 8010, "to listen on; 0: one that is free")
	c.Flags().StringVar(&out, "out", "", "directory for the page as files; it is created")
	c.Flags().StringVar(&wasm, "wasm", "", "directory of the program for that page (default: wasm beside decodesim)")
	return c
}

// writeExplorer writes the page of a scenario's text as files.
func writeExplorer(errOut io.Writer, text []byte, out, wasm string) error {
	if wasm == "" {
		program, err := os.Executable()
		if err != nil {
			return failed(err)
		}
		wasm = filepath.Join(filepath.Dir(program), "wasm")
	}
	s, err := explore.NewSite(text, os.Environ(), builtDir(wasm))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--out needs the simulator as WebAssembly, which make site builds, and %q has none of it (%w); "+
			"--wasm names the folder that does", wasm, err)
	case err != nil:
		return err
	}
	dir, err := output.Open(out, explore.SiteFiles()...)
	if err != nil {
		return err
	}
	defer dir.Abandon()
	for _, step := range []func() error{func() error { return s.WriteTo(dir) }, dir.Keep} {
		if err := step(); err != nil {
			return failed(err)
		}
	}
	fmt.Fprintf(errOut, "wrote the explorer of %s to %s; any server of files serves it: python3 -m http.server -d %s\n",
		s.Name(), inputs.Escaped(dir.Path()), inputs.Escaped(dir.Path()))
	return nil
}

// builtDir is the directory of the program for a page. Its files are regular ones, and read up to a bound.
type builtDir string

var _ fs.ReadFileFS = builtDir("")

// Open implements fs.FS.
func (d builtDir) Open(name string) (fs.File, error) {
	return inputs.Open(filepath.Join(string(d), name))
}

// ReadFile implements fs.ReadFileFS.
func (d builtDir) ReadFile(name string) ([]byte, error) {
	return inputs.Read(filepath.Join(string(d), name), inputs.DataMax)
}

// exploredText is the text of the scenario of the command line.
func exploredText(c *cobra.Command, args []string) ([]byte, error) {
	if len(args) == 0 {
		args = []string{exploreScenario}
	}
	if stdin, err := stdinFor(c, args); stdin != nil || err != nil {
		return stdin, err
	}
	if text, ok := explore.BuiltIn(args[0]); ok {
		return text, nil
	}
	if _, err := configs.Load(args[0], configs.Options{Env: os.Environ()}); err != nil {
		return nil, err // with the place in the file
	}
	return catalog.ReadFile("scenario", args[0])
}

// serveExplorer answers on the loopback address until ctx is done.
func serveExplorer(ctx context.Context, errOut io.Writer, s *explore.Server, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	fmt.Fprintf(errOut, "exploring %s at http://%s/; a signal ends it\n", s.Name(), l.Addr())
	if err := s.Serve(ctx, l); ctx.Err() != nil {
		return context.Canceled
	} else if err != nil {
		return failed(err)
	}
	return nil
}
