package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Plan is what to sweep.
type Plan struct {
	Source  string   // name of a scenario, or path to one
	Set     []string // over the scenario's
	Env     []string // as of os.Environ
	Seed    *uint64  // nil: the scenario's
	Over    []string // an axis each
	Ladder  bool     // an axis of loads, from a tenth of the scenario's to four times it
	Seeds   int      // under how many, from the first on
	Plots   []string // see ParsePlot
	Version string   // of the program
}

// runsMax is the most runs of a sweep.
const runsMax = 10_000_000

// Sweep is the points of a plan, every scenario of which has been read.
type Sweep struct {
	Head
	plan    Plan
	base    *configs.Scenario
	assumed page.Section // what the results of the scenario rest on
}

// Head is what is known of a sweep before its first run. Shards of one sweep have the same.
type Head struct {
	Scenario string   `json:"scenario"`
	Is       string   `json:"deployment"` // of the scenario itself, before anything of it is varied
	Version  string   `json:"version"`
	Axes     []Axis   `json:"axes"`
	Seeds    []uint64 `json:"seeds"`
	Points   int      `json:"points"`
	Load     *Load    `json:"load,omitempty"` // absent unless an axis is one
	SLO      *SLO     `json:"slo,omitempty"`  // absent where the scenario has none, or an axis varies it
	Plots    []Plot   `json:"plots,omitempty"`
	Command  string   `json:"command"` // that makes it again, where the scenario is

	Expected []metrics.ExpectedError `json:"expected_error,omitempty"` // of the scenario itself
}

// Load is the axis that says how much load there is.
type Load struct {
	Axis     int     `json:"axis"`
	Unit     string  `json:"unit"`
	Expected float64 `json:"expected"` // as the scenario has it
}

// SLO is the limits that figures show; 0: none.
type SLO struct {
	TTFTS float64 `json:"ttft_s,omitempty"`
	TPOTS float64 `json:"tpot_s,omitempty"`
}

// Runs returns how many runs the sweep has.
func (h *Head) Runs() int { return h.Points * len(h.Seeds) }

// New reads the scenario of every point, so that no run starts if one is wrong. Whether what a scenario says can be
// built, such as a model that fits the memory, its run says, unless nothing that varies makes a difference to it. The
// notes are for people.
func New(ctx context.Context, p Plan) (s *Sweep, notes []string, err error) {
	return NewHeard(ctx, p, nil)
}

// NewHeard is New that says how many of the points it has read; nil: nobody hears.
func NewHeard(ctx context.Context, p Plan, read func(done, of int)) (s *Sweep, notes []string, err error) {
	base, err := configs.Load(p.Source, configs.Options{Set: p.Set, Env: p.Env, Seed: p.Seed})
	if err != nil {
		return nil, nil, err
	}
	s = &Sweep{plan: p, base: base}
	s.Scenario, s.Version = base.Name, p.Version
	for i := range p.Seeds {
		s.Seeds = append(s.Seeds, base.Seed+uint64(i))
	}
	if p.Seeds > 1 && base.Workload.Trace != nil {
		return nil, nil, fmt.Errorf("--seeds %d: the requests of %s come from a trace, and are the same under every seed; "+
			"expected 1", p.Seeds, p.Source)
	}
	if err := s.axes(ctx); err != nil {
		return nil, nil, err
	}
	for _, text := range p.Plots {
		plot, err := s.ParsePlot(text)
		if err != nil {
			return nil, nil, err
		}
		s.Plots = append(s.Plots, plot)
	}
	unbuilt := s.describe(ctx)
	return s, base.Notes(), cmp.Or(s.validate(ctx, read), s.none(ctx, unbuilt))
}

// none returns why the scenario cannot be built if no point can be, for the same reason: what varies is not what is
// wrong. Other points are rows of their own.
func (s *Sweep) none(ctx context.Context, unbuilt error) error {
	if unbuilt == nil {
		return nil
	}
	for point := range s.Points {
		sc, err := s.load(point, s.Seeds[0])
		if err == nil {
			err = s.builds(ctx, sc)
		}
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		if err == nil || err.Error() != unbuilt.Error() {
			return nil
		}
	}
	return unbuilt
}

// builds says why a scenario cannot be built; nil: it can.
func (s *Sweep) builds(ctx context.Context, sc *configs.Scenario) error {
	b, err := build.NewUntil(ctx, sc)
	if err != nil {
		return s.named(err)
	}
	return b.Close()
}

// axes reads what is varied.
func (s *Sweep) axes(ctx context.Context) error {
	if s.plan.Ladder {
		ladder, err := s.ladder(ctx)
		if err != nil {
			return err
		}
		s.Axes = append(s.Axes, ladder)
	}
	for _, text := range s.plan.Over {
		a, err := ParseAxis(text)
		if err != nil {
			return err
		}
		a.Key, err = keyOf(s.base, a.Name)
		if err != nil {
			return refused(text, "%s", err.Error())
		}
		if i := slices.IndexFunc(s.Axes, func(o Axis) bool { return o.Key == a.Key }); i >= 0 {
			other := "--over " + s.Axes[i].Name
			if i == 0 && s.plan.Ladder {
				other = "--ladder"
			}
			return refused(text, "%s varies it too; expected only one of them", other)
		}
		if slices.ContainsFunc(columns(), func(c Column) bool { return c.Name == a.Name }) ||
			slices.Contains(leading(), a.Name) {
			a.Name = a.Key
		}
		s.Axes = append(s.Axes, a)
	}
	if len(s.Axes) == 0 {
		return errors.New("sweep: nothing to vary; expected --over KEY=VALUES, such as --over rate=10:80:10, or --ladder")
	}
	s.Points = 1
	for i := range s.Axes {
		s.Points *= len(s.Axes[i].Values)
		if s.Points*len(s.Seeds) > runsMax {
			return fmt.Errorf("sweep: more than %d runs; expected fewer values or seeds", runsMax)
		}
	}
	return nil
}

// steps are the loads of a ladder, as multiples of the scenario's: closer together about where most deployments of a
// plan saturate, and up to four times of what is expected.
func steps() []float64 {
	return []float64{0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 2, 2.5, 3, 4}
}

// ladder returns the axis of loads.
func (s *Sweep) ladder(ctx context.Context) (Axis, error) {
	if w := &s.base.Workload; w.ClosedLoop != nil {
		a := Axis{Name: nameClients, Key: keyConcurrency, Numbers: true}
		for n := 1; n < 4*w.ClosedLoop.Concurrency; n *= 2 {
			a.Values = append(a.Values, written(float64(n)))
		}
		a.Values = append(a.Values, written(float64(4*w.ClosedLoop.Concurrency)))
		return a, nil
	}
	expected, _, err := s.expected(ctx)
	if err != nil {
		return Axis{}, fmt.Errorf("--ladder: %w", err)
	}
	a := Axis{Name: nameRate, Key: keyRate, Numbers: true}
	if s.base.Workload.Trace != nil {
		a.Key = keyTraceRate
	}
	for _, times := range steps() {
		a.Values = append(a.Values, written(times*expected))
	}
	return a, nil
}

// expected returns the load of the scenario itself, and its unit.
func (s *Sweep) expected(ctx context.Context) (float64, string, error) {
	if c := s.base.Workload.ClosedLoop; c != nil {
		return float64(c.Concurrency), "clients", nil
	}
	b, err := build.NewUntil(ctx, s.base)
	if err != nil {
		return 0, "", err
	}
	defer b.Close()
	l, err := load.Of(b)
	if err != nil {
		return 0, "", err
	}
	return l.RatePerS, l.Unit(), nil
}

// describe notes what the scenario deploys, and which axis is a load. It returns why the scenario cannot be built as it
// is; nil: it can.
func (s *Sweep) describe(ctx context.Context) (unbuilt error) {
	s.Is = describe.Deployment(s.base)
	s.Command = s.plan.command()
	s.Expected = expected.Of(s.base)
	s.assumed = page.Section{Title: "What this rests on",
		Lead: "The scenario cannot be built before it is varied; each point rests on the figures of its own hardware."}
	if b, err := build.NewUntil(ctx, s.base); err == nil {
		s.assumed = pages.Assumed(b)
		_ = b.Close()
	} else {
		unbuilt = s.named(err)
	}
	if o := &s.base.SLO; o.TTFTMS+o.TPOTMS > 0 {
		s.SLO = &SLO{o.TTFTMS / 1e3, o.TPOTMS / 1e3}
	}
	for i := range s.Axes {
		if key, _, _ := strings.Cut(s.Axes[i].Key, "."); key == "slo" {
			s.SLO = nil
		}
		if !isLoad(s.Axes[i].Key) || !s.Axes[i].Numbers {
			continue
		}
		s.Load = &Load{Axis: i, Unit: "requests/s"}
		if expected, unit, err := s.expected(ctx); err == nil {
			s.Load.Expected, s.Load.Unit = expected, unit
		}
	}
	return unbuilt
}

// validate reads the scenario of every point.
func (s *Sweep) validate(ctx context.Context, read func(done, of int)) error {
	var mu sync.Mutex
	first, wrong, done := s.Points, error(nil), 0
	run.Each(s.Points, func(point int) {
		if ctx.Err() != nil {
			return
		}
		_, err := s.load(point, s.Seeds[0])
		mu.Lock()
		defer mu.Unlock()
		if err != nil && point < first {
			first, wrong = point, err
		}
		done++
		if read != nil {
			read(done, s.Points)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return wrong
}

// load reads the scenario of a point under a seed.
func (s *Sweep) load(point int, seed uint64) (*configs.Scenario, error) {
	set := slices.Clone(s.plan.Set)
	for i, which := range at(s.Axes, point) {
		set = append(set, s.Axes[i].Key+"="+s.Axes[i].Values[which])
	}
	sc, err := configs.Load(s.plan.Source, configs.Options{Set: set, Env: s.plan.Env, Seed: &seed})
	if err != nil {
		return nil, s.named(err)
	}
	if sc.Workload.Precision > 0 {
		return nil, sc.Errorf("workload.precision", "%g lengthens each run by itself, and the points of a sweep send the "+
			"same requests; expected null", sc.Workload.Precision)
	}
	return sc, nil
}

// named says in an error which --over it is about, for the user wrote no --set.
func (s *Sweep) named(err error) error {
	var of *strict.Error
	if !errors.As(err, &of) {
		return err
	}
	for _, a := range s.Axes {
		if value, ok := strings.CutPrefix(of.Where, "--set "+a.Key+"="); ok && slices.Contains(a.Values, value) {
			return strict.Errorf("--over "+a.Name+"="+value, "%s", of.Message)
		}
	}
	return err
}

// Print is what tells sweeps apart: a journal, a shard and a queue belong to one. It covers the program, the scenario,
// what is varied and the files that are read.
func (s *Sweep) Print(ctx context.Context) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, s.Version, s.Axes, s.Seeds, s.Plots)
	text, err := s.base.YAMLFor(".") // wherever the working directory is
	if err != nil {
		return "", err
	}
	h.Write(text)
	for _, name := range s.files() {
		if err := inputs.CopyTo(ctx, h, name); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// files returns the files that points read beside the scenario.
func (s *Sweep) files() []string {
	names := []string{s.base.Model.Config, s.base.Speculation.DraftModel}
	for i := range s.base.Pools {
		p := &s.base.Pools[i]
		names = append(names, p.Model, p.GPU.From, p.Efficiency.Base)
	}
	if t := s.base.Workload.Trace; t != nil {
		names = append(names, t.File)
	}
	if l := s.base.Workload.Lengths; l != nil {
		names = append(names, l.File)
	}
	for i := range s.Axes {
		if !s.Axes[i].Numbers {
			names = append(names, s.Axes[i].Values...)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		at, err := os.Stat(name)
		return err != nil || !at.Mode().IsRegular()
	})
}
