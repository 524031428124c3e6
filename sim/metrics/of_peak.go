package metrics

// OfPeak is what the parts of a pool's usual decode step achieve: of as many sequences as it had in the mean, with the
// context of the mean request half-way through its output.
type OfPeak struct {
	Pool    string      `json:"pool"`
	Batch   int         `json:"batch"`
	Context int         `json:"context"`
	Parts   []PeakShare `json:"parts"`
}

// PeakShare is what a part of a step makes of the data sheet's peak of what it waits for: memory, or compute, which
// kernels may keep far below it.
type PeakShare struct {
	Part   string  `json:"part"`
	Limit  string  `json:"limit"` // memory, compute, or kernels: arithmetic that they keep far below the peak
	OfPeak float64 `json:"of_peak"`
}
