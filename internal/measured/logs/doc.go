// Package logs reads the authors' own tables of engine steps, kernels and newer servers. They are recognised where they
// are given, but no message offers them: a user's measurements have a value a row.
//
//	logs.go         the tables, recognised by their columns
//	steps.go        one step of an engine a row
//	experts.go      products of routed experts, by rows per expert
//	collectives.go  all-reduces by size, and dispatch with combine by tokens
//	latent.go       modules of latent attention
//	servers.go      runs of servers, all statistics in a row
package logs
