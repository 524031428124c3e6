package catalog

import "github.com/decodesim/decodesim/hardware"

// ownEfficiency is an efficiency file: the constants of one GPU, and how far off they were where they were fitted.
type ownEfficiency struct {
	hardware.Efficiency `yaml:",inline"`
	LeftOut             *LeftOut `yaml:"left_out"` // nil: nobody says
}

// LeftOut is how far a fit was off on its own runs, each predicted by the others: medians and 90th percentiles of
// absolute errors, in percent.
type LeftOut struct {
	Runs          int     `yaml:"runs"`
	TPOTMedianPct float64 `yaml:"tpot_median_pct"`
	TPOTP90Pct    float64 `yaml:"tpot_p90_pct"`
	TTFTMedianPct float64 `yaml:"ttft_median_pct"`
	TTFTP90Pct    float64 `yaml:"ttft_p90_pct"`
}

// LeftOutOf returns the errors that an efficiency file states of its own runs. False: it states none, or cannot be
// read, which is refused where it is to price something.
func LeftOutOf(file string) (LeftOut, bool) {
	own, err := readEfficiency(file)
	if err != nil || own.LeftOut == nil {
		return LeftOut{}, false
	}
	return *own.LeftOut, true
}

// wrong names a key whose value cannot be an error of runs; empty: there is none.
func (l *LeftOut) wrong() string {
	percent := func(x float64) bool { return x >= 0 && x < 1e6 }
	switch {
	case l == nil:
		return ""
	case l.Runs < 2:
		return "left_out.runs"
	case !percent(l.TPOTMedianPct):
		return "left_out.tpot_median_pct"
	case !percent(l.TPOTP90Pct):
		return "left_out.tpot_p90_pct"
	case !percent(l.TTFTMedianPct):
		return "left_out.ttft_median_pct"
	case !percent(l.TTFTP90Pct):
		return "left_out.ttft_p90_pct"
	}
	return ""
}
