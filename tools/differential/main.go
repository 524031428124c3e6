// Command differential runs the cases of a comparison with vLLM's own scheduler on decodesim; see README.md.
//
// It reads cases from standard input, one JSON object each, and writes what became of each to standard output.
//
//	case.go      what both sides are given, and what they return
//	simulate.go  a case on decodesim
//	watch.go     what a scheduler composes, step by step
//	diary.go     the sink that notes every token
//	pull.go      the prefill pool before the engine of a case
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

func run(r io.Reader, to io.Writer) error {
	w := bufio.NewWriter(to)
	in, out := json.NewDecoder(r), json.NewEncoder(w)
	for in.More() {
		var c Case
		if err := in.Decode(&c); err != nil {
			return err
		}
		result, err := Simulate(&c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Kind, err)
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return w.Flush()
}
