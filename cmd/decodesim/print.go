package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// printed is a result that goes to stdout: JSON for a program, or a table, and the files that a command has left.
type printed struct {
	json  bool
	files []string
}

// print writes what write says to out, all or nothing. The files follow a table, and go to errOut beside JSON.
func (p printed) print(out, errOut io.Writer, write func(w io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return failed(err)
	}
	list := io.Writer(&text)
	if p.json {
		list = errOut
	} else if len(p.files) > 0 {
		text.WriteByte('\n')
	}
	for _, path := range p.files {
		fmt.Fprintln(list, path)
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return failed(err)
	}
	return nil
}

// writeJSON writes x as results and files have it: indented, and with <, > and & as they are.
func writeJSON(w io.Writer, x any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(x)
}
