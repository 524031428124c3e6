//go:build js && wasm

package main

import (
	"syscall/js"

	"github.com/decodesim/decodesim/internal/explore"
)

// version is set by the linker: -ldflags "-X main.version=…".
var version string

// main gives the worker two functions, and waits to be called. begin(own) takes the scenario that the page begins from,
// as it stands in the page, and returns what is wrong with it. answer(path, query) returns an answer as JSON, or an
// Error, which it does not throw.
func main() {
	local := &explore.Local{}
	js.Global().Set("decodesim", map[string]any{
		"begin": js.FuncOf(func(_ js.Value, args []js.Value) any {
			l, err := explore.NewLocal([]byte(args[0].String()), version)
			if err != nil {
				return err.Error()
			}
			local = l
			return ""
		}),
		"answer": js.FuncOf(func(_ js.Value, args []js.Value) any {
			text, err := local.Answer(args[0].String(), args[1].String())
			if err != nil {
				return js.Global().Get("Error").New(err.Error())
			}
			return string(text)
		}),
	})
	select {}
}
