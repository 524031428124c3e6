// Package describe says in words what a scenario deploys, and what is built in.
//
//	scenario.go  model, pools, engine, memory and workload of a scenario, a line each
//	catalog.go   the tables of decodesim list
//	model.go     what a model counts, and what of its file was not read
package describe
