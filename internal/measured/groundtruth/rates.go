package groundtruth

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// stage is a stretch of an open loop at one rate.
type stage struct{ rate, fromS, durationS float64 }

// stagesOf returns the stages of a run, or what is unknown of them. Rows of single stages say theirs. The ones that
// have no row are those of the profile, if it agrees with the rows that there are.
func stagesOf(rows []*datafile.Record) (load []stage, unknown string) {
	stated := map[int]stage{}
	last := -1
	for _, r := range rows {
		if r.Text("stage") == "" {
			continue
		}
		i := r.Count("stage", -1)
		rate, hasRate := r.Optional("rate_rps")
		duration, hasDuration := r.Optional("duration_s")
		if i < 0 || !hasRate || !hasDuration {
			continue
		}
		check(r, "rate_rps", rate > 0 && rate <= 1e6, "requests per second, above 0 and up to 1e6")
		check(r, "duration_s", duration > 0 && duration <= 1e6, "seconds, above 0 and up to 1e6")
		stated[i], last = stage{rate: rate, durationS: duration}, max(last, i)
	}
	load = profileStages(rows[0].Text("profile"))
	for i := range load {
		if s, ok := stated[i]; ok && s != load[i] {
			load = nil // the profile is another one by this name
			break
		}
	}
	for i := len(load); i <= last; i++ {
		s, ok := stated[i]
		if !ok {
			return nil, "the rates of its stages are not all stated"
		}
		load = append(load, s)
	}
	if len(load) == 0 {
		return nil, "the rates of its stages are not all stated"
	}
	for i := range load[1:] {
		load[i+1].fromS = load[i].fromS + load[i].durationS
	}
	return load, ""
}

// check fails on a field that is out of range.
func check(r *datafile.Record, column string, good bool, want string) {
	if !good {
		r.Fail(column, want)
	}
}

// profileStages returns the stages of a named load: all runs of one name had the same. None: a name that is not known.
func profileStages(profile string) []stage {
	switch profile {
	case "general":
		return []stage{{rate: 8, durationS: 600}, {rate: 20, durationS: 600}}
	case "general-lite":
		return []stage{{rate: 2.5, durationS: 600}, {rate: 6, durationS: 600}}
	case "codegen":
		return []stage{{rate: 5, durationS: 600}, {rate: 10, durationS: 600}}
	case "roleplay":
		return []stage{{rate: 6, durationS: 1200}}
	case "reasoning":
		return []stage{{rate: 4, durationS: 1200}}
	case "reasoning-lite":
		return []stage{{rate: 1, durationS: 1200}}
	}
	return nil
}

// arriveInStages adds Poisson arrivals at the rate of each stage, in the number expected of all stages, so that the run
// ends when the last of them is answered. Two points at one instant are a jump of the rate.
func arriveInStages(s *setup.Scenario, load []stage) {
	requests := 0.0
	var points []string
	for i, l := range load {
		requests += float64(l.rate * l.durationS)
		points = append(points, fmt.Sprintf("{at_s: %g, rate: %g}", l.fromS, l.rate))
		if i < len(load)-1 {
			points = append(points, fmt.Sprintf("{at_s: %g, rate: %g}", load[i+1].fromS, l.rate))
		}
	}
	if len(load) == 1 {
		s.AddWorkload("arrivals: {process: poisson, rate: %g}", load[0].rate)
	} else {
		s.AddWorkload("arrivals: {process: piecewise, points: [%s]}", strings.Join(points, ", "))
	}
	s.AddWorkload("requests: %.0f", max(1, math.Round(requests)))
}
