//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "explorer: a program for a page; expected GOOS=js GOARCH=wasm, as make wasm has it")
	os.Exit(2)
}
