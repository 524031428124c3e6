// Package sessions generates load that waits for answers: clients who send their next request when the last has ended,
// users who ask on in conversations, and agents that run a tool after each answer.
//
//	closed.go    Closed: a fixed number of clients with independent requests
//	courses.go   what conversations and tasks have in common: when they begin, whose turn is due, when they end
//	sessions.go  Sessions: conversations of several turns
//	starts.go    when clients and sessions begin
//	turns.go     what a session asks
//	think.go     how long its user thinks
//	window.go    which session or task a request belongs to
//	agents.go    Agents: tasks of agents, with tools and sub-agents
//	recorded.go  Recorded: tasks of a recording, whose turns wait for answers
//	plans.go     how a task would go
//	tasks.go     Task: how long one took, and what its time was spent on
package sessions
