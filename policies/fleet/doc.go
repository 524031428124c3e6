// Package fleet decides which requests enter a cluster, how many instances its pools have, and how instances fail or
// slow down.
//
//	admission.go        which requests enter, by rate and by queue length
//	autoscale.go        how many instances a pool has
//	autoscale_demand.go the signals from which an autoscaler derives that number
//	role_switch.go      instances that change between prefill and decode
//	failures.go         instances that fail at given instants
//	random_failures.go  instances that fail at random
//	drains.go           instances that are taken out for maintenance
//	controllers.go      several controllers as one
//	noise.go            steps that last longer than priced, in all instances or in stragglers
package fleet
