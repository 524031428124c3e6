package views

import "math"

// Others returns what simulators and papers mean by the same words. No run is reported in their terms; they are only
// compared with the definitions of the tools.
func Others() []Tool {
	ms := milliseconds()
	first := Measure{Key: "TTFT", Kind: TTFT, Unit: ms, Formula: "F", each: ttft}
	perN := Measure{Key: "TPOT", Kind: TPOT, Unit: ms, Formula: "(t_m − t_1)/n", each: decodePerToken}
	pooled := Measure{Key: "ITL", Kind: ITL, Unit: ms, Formula: "every gap between chunks", each: gaps}
	return []Tool{
		{Name: "vidur", Measures: []Measure{first, perN}},
		{Name: "splitwise-sim", Measures: []Measure{first, perN}},
		{Name: "simdistserve", Measures: []Measure{first, perN}},
		{Name: "LLMServingSim", Measures: []Measure{first, pooled, {
			Key: "TPOT", Kind: TPOT, Unit: ms, Formula: "(E2E − F)/(n − 1) in whole nanoseconds", each: wholeNanoseconds,
		}}},
		{Name: "BLIS", Measures: []Measure{first, pooled, {
			Key: "TPOT", Kind: TPOT, Unit: ms, Formula: "Σ gaps/(n − 1)", each: tpot,
		}}},
		{Name: "aiconfigurator", Measures: []Measure{
			first,
			{Key: "ITL", Kind: ITL, Unit: ms, Formula: "mean decode step", each: tpot},
			{Key: "inclusive TPOT", Kind: TPOT, Unit: ms, Formula: "(F + step·(n − 1))/n", each: perToken},
		}},
	}
}

func decodePerToken(r *Record, add add) {
	t := r.client()
	add(t.decode()/t.n(), 1)
}

func wholeNanoseconds(r *Record, add add) {
	tpot(r, func(x float64, w int64) { add(math.Floor(x*1e9)*1e-9, w) })
}
