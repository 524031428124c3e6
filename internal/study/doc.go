// Package study runs simulations to learn about the simulator, or about many deployments at once.
//
//	predict.go   a measured run simulated; observe.go what was measured of it, computed as the tools do
//	all.go       many runs over all cores
//	occupancy.go how full the server of a run is
//	compare.go   scenarios on the same requests: compare_pairs.go differences with intervals, compare_metrics.go of what,
//	             compare_classes.go by service class
//	freeze.go    a run whose batches are kept, to be priced anew; freeze_tape.go its batches, freeze_shapes.go
//	             the fewer that stand for them, freeze_wait.go which of them a measured value waits for
//	score.go     predictions beside measurements: what is compared and what is not; score_groups.go by label,
//	             score_errors.go summed up
//	size.go      the deployment that serves a load best: size_enumerate.go what there is to search, size_shape.go its
//	             pieces, size_packing.go what bounds each, size_run.go one run, size_capacity.go what is carried,
//	             size_rounds.go from many to few, size_cheapest.go for a rate that must be carried, size_conclude.go the
//	             last of them under every seed, size_frontier.go what plots show
package study
