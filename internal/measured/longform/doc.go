// Package longform reads the table of measurements with one value a row, decodesim/measurements/v1: what was deployed,
// how it was loaded, and a metric with its value, its unit and what it is per. A person can write it, and what vendors
// and benchmark bodies publish fits into it.
//
//	table.go       the table; rows that describe one run are one run
//	columns.go     its columns, and those that nothing reads
//	deployment.go  model, GPU, engine and layout as a scenario
//	kernels.go     which kernels a release of an engine had
//	load.go        lengths and arrivals as a workload
//	mlperf.go      what the results of MLPerf leave to its rules
//	metric.go      metric, unit and per as a value
//	priced.go      what is priced without requests: steps, collectives, kernels
package longform
