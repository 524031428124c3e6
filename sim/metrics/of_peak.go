package metrics

// OfPeak is what the parts of a pool's usual decode step achieve: of as many sequences as it had in the mean, with the
// context of the mean request half-way through its output.
type OfPeak struct {
	Pool    string      `json:"pool"`
	Batch   int         `json:"batch"`
	Context int         `json:"context"`
	Parts   []PeakShare `json:"parts"`
}

// PeakShare is what a part of a step makes of the data sheet's peak of what it waits for: memory or compute.
type PeakShare struct {
	Part   string  `json:"part"`
	Limit  string  `json:"limit"`
	OfPeak float64 `json:"of_peak"`
}
