// Package fleet decides which requests enter a cluster, how many instances its pools have, and how instances fail or
// slow down.
//
//	admission.go        which requests enter, by rate and by queue length; admission_names.go the rules as one
//	autoscale.go        how many instances a pool has; autoscale_signal.go by which signal
//	role_switch.go      instances that change between prefill and decode
//	failures.go         instances that fail at given instants; failures_random.go at random
//	drains.go           instances that are taken out for maintenance
//	controllers.go      several of these as one
//	noise.go            how much longer steps last than priced; straggler.go in some instances always
package fleet
