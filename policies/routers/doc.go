// Package routers decides where a request goes: by which route through the pools, and to which instance of a pool.
//
//	routing.go         the names of routers, and what they go by
//	round_robin.go     round robin, and the fewest requests
//	least.go           the least load by another measure
//	random.go          one instance at random, and the better of two
//	session.go         the instance that served the session before
//	prefix.go          the instance that was sent the same prefix before
//	weighted.go        cache hits weighed against load
//	view.go            what a router knows of the loads of a pool
//	splitter.go        the route through the pools; splitter_names.go the names of the splitters
package routers
