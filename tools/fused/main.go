// Command fused finds products that the compiler adds without rounding them first. Where a processor can multiply and
// add in one instruction, Go lets x*y + z keep more digits than the two operations have, across statements and inlined
// calls: results then differ between processors in their last digits. A conversion, float64(x*y) + z, forbids it. No
// reader of sources sees all of these places, so this one reads what was compiled: for arm64, where the compiler fuses
// all that it may.
//
//	main.go  flags, and what is printed
//	scan.go  the instructions of a program, and the lines that they come from
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fused:", err)
		os.Exit(1)
	}
}

// run prints the lines of a module that are compiled to fused instructions, and fails if there are any.
func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("fused", flag.ContinueOnError)
	of := flags.String("of", "github.com/decodesim/decodesim/", "which sources: those whose name has this in it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("want one argument, a program that was built with GOARCH=arm64 and -trimpath")
	}
	lines, err := scan(flags.Arg(0))
	if err != nil {
		return err
	}
	// The standard library does not care for its last digits, so a scan that finds nothing in it is blind.
	if count(lines, "math/") == 0 {
		return fmt.Errorf("%s has no fused instruction even in package math: it is not the program that was meant",
			flags.Arg(0))
	}
	for _, l := range lines {
		if strings.Contains(l.String(), *of) {
			_, _ = fmt.Fprintln(w, l)
		}
	}
	if n := count(lines, *of); n > 0 {
		return fmt.Errorf("%d lines add a product that is not rounded; write float64(x*y) + z", n)
	}
	return nil
}

func count(lines []line, of string) (n int) {
	for _, l := range lines {
		if strings.Contains(l.String(), of) {
			n++
		}
	}
	return n
}
