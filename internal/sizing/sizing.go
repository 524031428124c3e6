package sizing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/commands"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// SchemaSizing names the format of size.json. Fields are added, never renamed.
const Schema = "decodesim/size/v1"

// Sizing is the answer of a study: which deployment serves its load best, and by how much.
type Sizing struct {
	Schema   string   `json:"schema"`
	Study    string   `json:"study"`
	Scenario string   `json:"scenario"`
	Version  string   `json:"version"`
	Model    string   `json:"model"`
	GPU      string   `json:"gpu"`
	Seeds    []uint64 `json:"seeds"`

	GPUsMax     int        `json:"gpus_max"` // of the budget
	AtPerS      float64    `json:"at_per_s,omitempty"`
	Unit        string     `json:"unit"`           // of rates: requests/s or sessions/s
	RateMinPerS float64    `json:"rate_min_per_s"` // of the rates that were tried
	RateMaxPerS float64    `json:"rate_max_per_s"`
	Resolution  float64    `json:"resolution"` // of a capacity: the next rate over it, less 1
	SLO         SLO        `json:"slo"`
	Requests    []int64    `json:"requests"` // of a run, by round
	Rounds      []int      `json:"rounds"`   // deployments simulated in each
	Simulations int64      `json:"simulations"`
	Confidence  float64    `json:"confidence"`
	Best        *Finalist  `json:"best"` // null: no deployment sustains the rate
	Finalists   []Finalist `json:"finalists"`
	// of the best over the second; null: there is none, or under some seed it sustains nothing
	Lead *Lead `json:"lead"`

	Rows    []Row    `json:"rows"`    // where a rate is asked for: the cheapest of each kind
	Failure *Failure `json:"failure"` // null: something sustains the lowest rate

	Replay   *Replay  `json:"replay"`   // of the best under all of its workload; null: there is none
	Commands []string `json:"commands"` // that start its servers, as the lines of a shell script

	// of the best packed deployment: no other sustains more; where a rate is asked for, of the best that was tried
	RooflineLimitPerS float64         `json:"perfect_packing_per_s"`
	Frontier          []FrontierPoint `json:"frontier"`
	Splits            []SplitPoint    `json:"splits"`
	Candidates        []Candidate     `json:"candidates"`
	Notes             []string        `json:"notes"`

	Expected []metrics.ExpectedError `json:"expected_error,omitempty"` // of the finalists, the best one's first

	ofBest modelError // of the best deployment

	reported []page.Section // of the best, for the page: a late token, the replay over time, and what all rests on
}

// Replay is what users of the best deployment feel under all of its workload, from the first request to the last.
type Replay struct {
	Arrived  int64             `json:"arrived"`
	Requests int64             `json:"requests"` // completed
	RatePerS float64           `json:"rate_per_s"`
	SLO      []metrics.Verdict `json:"slo"`
	Cost     *metrics.Cost     `json:"cost,omitempty"`      // what is paid; tokens at their price while the load goes on
	Energy   *metrics.Energy   `json:"energy,omitempty"`    // what is drawn
	Gaps     []metrics.Gap     `json:"itl_parts,omitempty"` // what gaps between tokens are made of
}

// SLO is what must be kept: every limit, by a share of the requests. 0: no such limit.
type SLO struct {
	TTFTS      float64  `json:"ttft_s,omitempty"`
	TPOTS      float64  `json:"tpot_s,omitempty"`
	E2ES       float64  `json:"e2e_s,omitempty"`
	Attainment float64  `json:"attainment"`
	Rules      []string `json:"rules,omitempty"` // all of which must hold as well
}

// Candidate is a deployment and how far it came.
type Candidate struct {
	Deployment
	RooflineLimitPerS float64      `json:"perfect_packing_per_s"`
	CapacityPerS      stats.Number `json:"capacity_per_s"`     // as of its last round; null: not simulated
	Round             int          `json:"round"`              // its last, from 1 on; 0: it was not simulated
	Why               string       `json:"why,omitempty"`      // it was not
	Spending          *Spending    `json:"spending,omitempty"` // at that capacity; absent: not simulated to its end there
}

// Deployment is pools of equal replicas.
type Deployment struct {
	Name       string  `json:"name"`
	Topology   string  `json:"topology"`
	Split      string  `json:"split,omitempty"` // such as 1P3D; absent: colocated
	GPUs       int     `json:"gpus"`
	USDPerHour float64 `json:"usd_per_hour,omitempty"` // absent where the GPU has no price
	TDPW       float64 `json:"tdp_w,omitempty"`        // that the accelerators may draw; absent where it is unknown
	Pools      []Pool  `json:"pools"`
}

// Pool is one pool of a deployment.
type Pool struct {
	Role                string `json:"role"`
	Replicas            int    `json:"replicas"`
	GPUs                int    `json:"gpus"`
	GPU                 string `json:"gpu"`
	TensorParallel      int    `json:"tensor_parallel"`
	PipelineParallel    int    `json:"pipeline_parallel"`
	DataParallel        int    `json:"data_parallel"`
	ExpertParallel      bool   `json:"expert_parallel"`
	MaxNumSeqs          int    `json:"max_num_seqs"`
	MaxNumBatchedTokens int    `json:"max_num_batched_tokens"`
}

// PrefillShare is the share of the GPUs that only read prompts.
func (d *Deployment) PrefillShare() float64 {
	if d.Topology != configs.Disaggregated {
		return 0
	}
	return float64(d.Pools[0].GPUs) / float64(d.GPUs)
}

// Finalist is a deployment of the last round. What it does, it does at its capacity.
type Finalist struct {
	Deployment
	CapacityPerS      float64           `json:"capacity_per_s"` // the most it sustains, mean over the seeds
	Interval          *stats.Interval   `json:"interval"`       // of that over seeds; null: one seed
	BySeed            []float64         `json:"by_seed"`
	AtLeast           bool              `json:"at_least"` // it sustains the highest rate that was tried
	Margin            stats.Number      `json:"margin"`   // capacity over the asked rate, less 1; null: none was asked for
	RooflineLimitPerS float64           `json:"perfect_packing_per_s"`
	OfPerfect         float64           `json:"of_perfect"`
	GoodputPerS       float64           `json:"goodput_per_s"` // requests/s that keep the SLO
	GoodputPerSPerGPU float64           `json:"goodput_per_s_per_gpu"`
	USDPerMillion     float64           `json:"usd_per_million_requests,omitempty"`
	Spending          *Spending         `json:"spending,omitempty"`
	UserTokensPerS    float64           `json:"user_tokens_per_s,omitempty"` // of the median request, after its first
	TTFTS             Percentile        `json:"ttft_s"`
	TPOTS             Percentile        `json:"tpot_s"`
	Rules             []metrics.Verdict `json:"slo_rules,omitempty"`
	Limit             Limiting          `json:"limit"`
	OfPeak            []metrics.OfPeak  `json:"of_peak,omitempty"` // what parts of its usual step achieve, by pool
	SlowParts         []string          `json:"slow_parts,omitempty"`
	Warnings          []string          `json:"warnings,omitempty"` // what a run of it warns of
}

// Percentile is a latency at the median and at the share of requests that must keep the SLO.
type Percentile struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	At  float64 `json:"at_attainment"`
}

// MarshalJSON writes null for each where no request has one.
func (p Percentile) MarshalJSON() ([]byte, error) {
	orNull := func(x float64) any {
		if p == (Percentile{}) {
			return nil
		}
		return x
	}
	return json.Marshal(struct {
		P50 any `json:"p50"`
		P90 any `json:"p90"`
		P95 any `json:"p95"`
		P99 any `json:"p99"`
		At  any `json:"at_attainment"`
	}{orNull(p.P50), orNull(p.P90), orNull(p.P95), orNull(p.P99), orNull(p.At)})
}

// duration prints a latency of p; a dash where no request has one, as no TPOT where all outputs are of one token.
func (p *Percentile) duration(s float64) string {
	if p.P99 == 0 {
		return text.Dash
	}
	return text.Duration(s)
}

// cell is the same on a page, of the number at a path.
func (p *Percentile) cell(s float64, path string) page.Cell {
	if p.P99 == 0 {
		return page.Words(text.Dash)
	}
	return page.Number(text.Duration(s), path, s)
}

// Limiting says what breaks at the next higher rate.
type Limiting struct {
	RatePerS    float64           `json:"rate_per_s"`
	Attainment  float64           `json:"attainment"`
	TTFTMissed  float64           `json:"ttft_missed"` // shares of the requests
	TPOTMissed  float64           `json:"tpot_missed"`
	E2EMissed   float64           `json:"e2e_missed"`
	Refused     float64           `json:"refused"` // or failed
	Rules       []metrics.Verdict `json:"slo_rules,omitempty"`
	Utilization []float64         `json:"utilization"` // by pool
	Share       metrics.Share     `json:"share"`       // of a decode step
	Of          string            `json:"of"`          // what its least time is bound by: memory or compute
}

// Lead is the best over the second, paired by seed.
type Lead struct {
	Relative float64         `json:"relative"` // difference of capacities over that of the second
	Interval *stats.Interval `json:"interval"`
}

// FrontierPoint is a deployment under a load that it sustains, which no other run beats in both.
type FrontierPoint struct {
	Name              string  `json:"name"`
	Topology          string  `json:"topology"`
	RatePerS          float64 `json:"rate_per_s"`
	GoodputPerSPerGPU float64 `json:"goodput_per_s_per_gpu"`
	UserTokensPerS    float64 `json:"user_tokens_per_s"`
}

// SplitPoint is the most that a split sustains, whatever its batch limits.
type SplitPoint struct {
	Name              string  `json:"name"`
	Topology          string  `json:"topology"`
	Series            string  `json:"series"` // of points that differ in the split alone
	Split             string  `json:"split,omitempty"`
	PrefillShare      float64 `json:"prefill_share"` // of the GPUs
	GPUs              int     `json:"gpus"`
	CapacityPerS      float64 `json:"capacity_per_s"`
	GoodputPerSPerGPU float64 `json:"goodput_per_s_per_gpu"`
}

// Options is what surrounds a study. The zero value is nothing.
type Options struct {
	Env      []string // as of os.Environ, for the scenario
	Seed     *uint64  // over the scenario's
	Version  string   // of the program
	Progress func(what string, done, of int)

	Unfinished func(words string) // of a search that was cancelled: what it had found; nil is not called

	Elsewhere Elsewhere // nil: the runs are made here

	anyRow bool // any row may be chosen, and not the cheapest alone
}

// sizer is a search under way.
type sizer struct {
	ctx     context.Context
	study   *configs.Study
	options Options
	base    *configs.Scenario
	model   llm.Model
	several bool   // GPUs are searched
	routed  string // how, where the search chose; empty: the scenario says
	load    *load.Load
	grid    grid
	slo     objective
	shapes  []*shape
	all     []*deployment
	packed  map[string]float64 // by topology and narrowest pool: the share of the roofline limit that was sustained
	runs    atomic.Int64
	longest int64 // requests of the longest run that was lengthened; 0: none was
	asks    Asks  // that other processes answer; nil: there are none
	out     *Sizing

	sample   outcome   // of a first run: what requests ask for
	families []*family // where a rate must be sustained

	mu          sync.Mutex // of what follows, and of what deployments keep of their runs
	simulated   map[simulation]*simulated
	deployments map[string]*deployment // by name
	pairs       map[setting]*shape
	texts       map[string][]byte // scenarios by topology
}

// Search searches what the study asks for, over all cores; the answer depends on the study alone. It also returns the
// scenario of the best deployment, nil if there is none.
func Search(ctx context.Context, s *configs.Study, o Options) (out *Sizing, best *configs.Scenario, err error) {
	z := &sizer{ctx: ctx, study: s, options: o}
	defer func() {
		if z.asks != nil {
			err = errors.Join(err, z.asks.End(context.WithoutCancel(ctx), err == nil))
		}
		if ctx.Err() != nil && o.Unfinished != nil && z.sample.Rate > 0 { // the first run has ended
			o.Unfinished(z.soFar())
		}
	}()
	if err := z.prepare(); err != nil {
		return nil, nil, err
	}
	var finalists []*deployment
	if s.Rate.At > 0 {
		finalists, err = z.cheapest()
	} else {
		finalists, err = z.most()
	}
	if err == nil {
		err = z.conclude(finalists)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(finalists) == 0 {
		return z.out, nil, nil
	}
	// The scenario has one seed, and under another one half of the deployments sustain less than in the mean.
	best = finalists[0].scenario(z.load, cmp.Or(z.out.Best.BySeed[0], z.grid.low), s.Requests, z.base.Seed)
	best.Name = s.Name + "-best"
	asked := &z.slo.asked
	best.SLO = configs.SLO{Rules: asked.Rules, TTFTMS: asked.TTFTMS, TPOTMS: asked.TPOTMS, E2EMS: asked.E2EMS}
	if s.Rate.At > 0 {
		z.load.At(best, s.Rate.At, s.Requests)
	}
	return z.out, best, z.check(best)
}

// check replays the best deployment under all of its workload, as decodesim run does with its scenario, and says how
// its servers are started.
func (z *sizer) check(best *configs.Scenario) error {
	z.report("replay", 0, 1)
	replayed := best
	if own := z.out.Best.BySeed[0]; z.grid.at == 0 && own > 0 { // what it sustains under this seed, not in the mean
		replayed = best.Clone()
		z.load.At(replayed, own, z.study.Requests)
	}
	if replayed.Energy == nil { // what it draws is part of the answer
		replayed = replayed.Clone()
		replayed.Energy = configs.DefaultEnergy()
	}
	var summary *metrics.Summary
	var d metrics.Description
	spanS := 0.0
	resolved := best // its servers are started with the limits that follow from their memory
	var g *going
	observe := func(b *build.Built) run.Observer {
		all := b.Requests
		g = newGoing(b.SpanS, float64(z.load.Unmeasured(int64(all)))/max(1, all))
		return g
	}
	err := load.Replayed(z.ctx, replayed, z.options.Version, observe, func(b *build.Built, r *run.Result) {
		summary, spanS, resolved = r.Summary, b.SpanS, b.Scenario
		d = b.Describe("", r.Summary.Requests.Arrived)
		z.out.show(b, r)
	})
	if err != nil {
		return err
	}
	r := &Replay{Arrived: summary.Requests.Arrived, Requests: summary.Requests.Completed,
		RatePerS: summary.Load.OfferedPerS, SLO: summary.Rules,
		Cost: costOf(summary, &d, g, spanS), Energy: g.energyOf(summary.Energy, &d), Gaps: summary.Gaps}
	if rule := z.slo.shareRule(); rule != nil && summary.SLO != nil {
		r.SLO = slices.Concat([]metrics.Verdict{rule.Judge(summary.SLO.Attainment)}, r.SLO)
	}
	z.out.Replay = r
	z.out.Commands, err = commands.Lines(resolved)
	if err != nil {
		z.out.Notes = append(z.out.Notes, "no command line: "+err.Error())
	}
	return nil
}
