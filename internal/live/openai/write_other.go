//go:build !unix

package openai

// writesAtOnce says that every stream is written by its own goroutine.
const writesAtOnce = false

func writeAtOnce(uintptr, []byte) (int, error) { panic("openai: there is no write that does not wait") }
