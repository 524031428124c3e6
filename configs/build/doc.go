// Package build turns a scenario into the parts of a run.
//
//	build.go                         the order in which parts are built, and what a summary says of them
//	replica.go deployment.go         the model on the GPUs of a pool
//	models.go                        a pattern of other deployments
//	efficiency.go                    what is achieved of the peaks of a GPU
//	cache.go engine.go cold_start.go
//	                                 blocks, host memory, limits, and how long a replica takes to start
//	tiers.go                         its stores below host memory
//	pool.go scheduler.go prefix.go   the pool and what schedules it
//	adapters.go                      LoRA adapters: their slots, and the requests that have one
//	noise.go speculation.go          what lengthens its steps, and what drafts its tokens
//	routes.go links.go               pools that share the work on a request, and the links between them
//	load.go classes.go choices.go    the requests
//	tasks.go                         who hears of the tasks of agents
//	slo.go windows.go                what requests must keep, and the windows of time in which that is judged
//	live.go                          requests that come from elsewhere
//	fleet.go controllers.go          routers, admission, autoscaling and failures
//	money.go                         prices and power of a replica
//	stream.go                        what lies between the engine and its clients, for views
//	notes.go                         what a reader of the results should know
package build
