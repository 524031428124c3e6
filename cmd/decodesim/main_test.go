package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func TestMain(m *testing.M) {
	version = "test" // results carry it
	os.Exit(m.Run())
}

// try runs a command line.
func try(args ...string) (status int, out, errOut string) {
	var o, e bytes.Buffer
	status = execute(context.Background(), &o, &e, args)
	return status, o.String(), e.String()
}
