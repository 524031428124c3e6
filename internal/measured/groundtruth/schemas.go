package groundtruth

import "github.com/decodesim/decodesim/internal/measured/datafile"

// Schemas are the kinds of file that hold the measurements, the most particular first.
func Schemas() []datafile.Schema {
	return []datafile.Schema{silicon, profiled, longRuns, positions, acceptance, splitwise, fits, stages, experiments,
		timings}
}
