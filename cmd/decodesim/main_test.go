package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// asProgram makes the test binary the program itself, so that a test can start it and send it signals. Its value is the
// version of that program; 1: as it was built.
const asProgram = "TEST_AS_DECODESIM"

func TestMain(m *testing.M) {
	if as := os.Getenv(asProgram); as != "" {
		if as != "1" {
			version = as
		}
		main()
	}
	version = "test" // results carry it
	os.Exit(m.Run())
}

// try runs a command line.
func try(args ...string) (status int, out, errOut string) {
	var o, e bytes.Buffer
	status = execute(context.Background(), &o, &e, args)
	return status, o.String(), e.String()
}
