// Command defaults checks what decodesim takes engines to do by themselves against the source of their releases. Each
// default names the lines of the release that it was read from, and their digest.
//
//	main.go      flags
//	release.go   a release and its defaults, as releases/ has them
//	archive.go   its source, from the Python package index
//	check.go     whether the lines are those that were read, there or in a newer release
//	page.go      docs/defaults.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "defaults:", err)
		os.Exit(1)
	}
}

// run checks every release, or says how the newest ones differ from them.
func run(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("defaults", flag.ContinueOnError)
	newest := flags.Bool("newest", false, "compare the newest release of each engine, and print what moved or changed")
	archives := flags.String("archives", "", "directory of the archives; empty: one in the cache of the user")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	dir, err := archiveDir(*archives)
	if err != nil {
		return err
	}
	releases, err := readReleases()
	if err != nil {
		return err
	}
	wrong := 0
	for i := range releases {
		if *newest && superseded(releases, i) {
			continue
		}
		n, err := check(ctx, w, &releases[i], dir, *newest)
		if err != nil {
			return fmt.Errorf("%s %s: %w", releases[i].Project, releases[i].Version, err)
		}
		wrong += n
	}
	if wrong > 0 && !*newest {
		return fmt.Errorf("%d defaults are not as they were read", wrong)
	}
	return nil
}

// superseded reports whether a later release of the same project was read.
func superseded(all []release, i int) bool {
	return slices.ContainsFunc(all, func(r release) bool {
		return r.Project == all[i].Project && slices.Compare(parts(r.Version), parts(all[i].Version)) > 0
	})
}

// archiveDir returns where archives are downloaded to.
func archiveDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", errors.New("no directory for archives; expected -archives DIR")
	}
	return filepath.Join(user, "decodesim", "releases"), nil
}
