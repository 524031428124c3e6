// Package routers decides where a request goes: by which route through the pools, and to which instance of a pool.
//
//	splitters.go    the route through the pools
//	routers.go      the routers by name, and their arguments
//	view.go         what a router knows of the loads of a pool
//	round_robin.go  each instance in turn
//	random.go       an instance drawn at random, and the less loaded of two drawn
//	least.go        the instance with the least load
//	session.go      the instance that had the session before
//	prefix.go       the instance that was sent the same prefix before
//	weighted.go     cache hits weighed against load
//	ranks.go        the data-parallel rank of an instance
package routers
