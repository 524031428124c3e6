// Package openai is a live fleet as a server with the API of OpenAI, as vLLM's has it (vLLM 0.33.0,
// vllm/entrypoints/openai).
//
//	server.go   routes, and what they share: limits, the token, the fleet
//	serve.go    the listeners, and the end of serving
//	guard.go    who may ask, how much and how fast
//	refused.go  what the fleet does not admit
//	asks.go     what a request asks of the fleet
//	body.go     the bodies of requests, and what of them is not simulated
//	chat.go     the messages of a chat as one prompt
//	stream.go   the answer as server-sent events, or in one piece
//	direct.go   chunks written straight to the connection, by as few goroutines as writers.go has
//	            write_*.go: a write that does not wait, where there is one
//	listener.go how many connections there may be
//	wire.go     JSON of answers
//	words.go    text of a length
//	failure.go  errors in the API's form
//	metrics.go  what vLLM's server counts, by its names
//	admin.go    the summary, the state and commands
//	page.go     the page that shows the fleet
package openai
