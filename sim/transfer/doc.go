// Package transfer is the network between instances: KV transfers, and the links that they share.
//
//	links.go   the transfers under way, and their events
//	shares.go  the rates at which they progress
//
// Which request is transferred from where to where, and what waits for it, is for package sim to
// know; here a transfer is work that progresses at the speed that others leave it.
package transfer
