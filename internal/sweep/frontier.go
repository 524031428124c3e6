package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
)

// FrontierPoint is a point that no other beats both in what a GPU yields and in how fast a user reads.
type FrontierPoint struct {
	Point    int          `json:"point"`
	Of       []Setting    `json:"of"`
	PerUser  float64      `json:"output_tokens_per_s_per_user"`
	PerGPU   float64      `json:"output_tokens_per_s_per_gpu"`
	TTFTP95S stats.Number `json:"ttft_p95_s"`
	PerUSD   *float64     `json:"output_tokens_per_usd,omitempty"` // absent without a price
}

// frontier returns the Pareto frontier, the fastest user last. A point that saturates is none: what it yields is of a
// queue that grows.
func (r *Result) frontier() []FrontierPoint {
	var all []FrontierPoint
	for point := range r.Points {
		if p, ok := r.frontierPoint(point); ok {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b FrontierPoint) int {
		return cmp.Or(cmp.Compare(b.PerUser, a.PerUser), cmp.Compare(b.PerGPU, a.PerGPU), cmp.Compare(a.Point, b.Point))
	})
	var best []FrontierPoint
	for _, p := range all {
		if len(best) == 0 || p.PerGPU > best[len(best)-1].PerGPU {
			best = append(best, p)
		}
	}
	slices.Reverse(best)
	return best
}

// frontierPoint is a point with both numbers; false: it lacks one, or saturates.
func (r *Result) frontierPoint(point int) (FrontierPoint, bool) {
	user, gpu := r.mean(point, "output_tokens_per_s_per_user"), r.mean(point, "output_tokens_per_s_per_gpu")
	if math.IsNaN(user) || math.IsNaN(gpu) || r.saturates(point) {
		return FrontierPoint{}, false
	}
	p := FrontierPoint{Point: point, Of: r.settings(point), PerUser: user, PerGPU: gpu,
		TTFTP95S: number(r.mean(point, "ttft_p95_s"))}
	if usd := r.mean(point, "usd_per_million_output_tokens"); usd > 0 {
		tokens := 1e6 / usd
		p.PerUSD = &tokens
	}
	return p, true
}
