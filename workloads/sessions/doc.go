// Package sessions generates load that waits for answers: clients who send their next request when the last has ended,
// and users who ask on in conversations.
//
//	closed.go    Closed: a fixed number of clients with independent requests
//	sessions.go  Sessions: conversations of several turns
//	starts.go    when clients and sessions begin
//	turns.go     what a session asks
//	think.go     how long its user thinks
//	slots.go     which session a request belongs to
package sessions
