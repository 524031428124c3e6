package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/decodesim/decodesim/configs/inputs"
)

// printed is a result that goes to stdout: JSON for a program, or a table, and the files that a command has left.
type printed struct {
	json  bool
	files []string
	dense bool // no line stands between the table and the files
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
	} else if len(p.files) > 0 && !p.dense {
		text.WriteByte('\n')
	}
	for _, path := range p.files {
		fmt.Fprintln(list, inputs.Escaped(path))
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return failed(err)
	}
	return nil
}
