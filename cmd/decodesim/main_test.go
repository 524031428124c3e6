package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
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
	if text := os.Getenv(asServer); text != "" {
		var n natsServer
		if err := errors.Join(json.Unmarshal([]byte(text), &n), n.serve()); err != nil {
			log.Fatal(err)
		}
		return
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
