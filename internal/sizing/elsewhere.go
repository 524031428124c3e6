package sizing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/inputs"
)

// Elsewhere opens a search to other processes, which make its runs.
type Elsewhere func(ctx context.Context, p *Plan) (Asks, error)

// Asks are what a search asks of other processes, many at once.
type Asks interface {
	Ask(ctx context.Context, about json.RawMessage) (json.RawMessage, error)
	End(ctx context.Context, done bool) error // of the search, which is done or has failed
}

// askedAtOnce bounds the runs that a search waits for at once.
const askedAtOnce = 256

// Plan is what another process needs to make the runs of a search.
type Plan struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Scenario   string           `json:"scenario"` // as YAML, with paths relative to the working directory
	SLO        configs.StudySLO `json:"slo"`
	Attainment float64          `json:"attainment"`
	Several    bool             `json:"several"` // GPUs are searched, so that names say which
	Files      []string         `json:"-"`       // that the scenario reads
	Print      string           `json:"-"`       // what tells searches apart
}

// order is a run that is asked for.
type order struct {
	Topology string  `json:"topology"`
	Setting  setting `json:"setting"`
	Replicas []int   `json:"replicas"`
	RatePerS float64 `json:"rate_per_s"`
	SessionS float64 `json:"session_s"` // of the load, as far as it is known
	Requests int64   `json:"requests"`
	Seed     uint64  `json:"seed"`
	Purpose  style   `json:"purpose"`
}

// answer is what came of it.
type answer struct {
	Outcome []byte `json:"outcome,omitempty"` // gob: floats keep every bit, and some are no numbers
	Error   string `json:"error,omitempty"`
}

// open opens the search to other processes, if there are any.
func (z *sizer) open() error {
	if z.options.Elsewhere == nil {
		return nil
	}
	p, err := z.plan()
	if err != nil {
		return err
	}
	asks, err := z.options.Elsewhere(z.ctx, p)
	if err == nil {
		z.asks = asks
	}
	return err
}

// plan returns what other processes need.
func (z *sizer) plan() (*Plan, error) {
	text, err := z.base.YAMLFor(".")
	if err != nil {
		return nil, err
	}
	p := &Plan{Name: z.study.Name, Version: z.options.Version, Scenario: string(text), SLO: z.slo.asked,
		Attainment: z.slo.share, Several: z.several, Files: z.base.Files()}
	written, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	s := z.study
	fmt.Fprintln(h, string(written), s.Budget, s.Rate, s.Search, s.Requests, s.Seeds)
	for _, name := range p.Files {
		if err := inputs.CopyTo(z.ctx, h, name); err != nil {
			return nil, err
		}
	}
	p.Print = hex.EncodeToString(h.Sum(nil)[:12])
	return p, nil
}

// ask has another process make a run.
func (z *sizer) ask(o *order) (x outcome, err error) {
	about, err := json.Marshal(o)
	if err != nil {
		return x, err
	}
	text, err := z.asks.Ask(z.ctx, about)
	if err != nil {
		return x, err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return x, fmt.Errorf("a run was not made by this program: %w", err)
	}
	if a.Error != "" {
		return x, errors.New(a.Error)
	}
	if err := gob.NewDecoder(bytes.NewReader(a.Outcome)).Decode(&x); err != nil {
		return x, fmt.Errorf("a run was not made by this program: %w", err)
	}
	return x, nil
}

// Maker makes runs of a search that another process has planned.
type Maker struct {
	plan *Plan
	base *configs.Scenario
	slo  objective

	mu     sync.Mutex
	shapes map[shapeKey]*shape
}

// shapeKey tells shapes apart.
type shapeKey struct {
	topology string
	setting  setting
}

// Open reads the scenario of a plan, in the working directory that has its files.
func (p *Plan) Open() (*Maker, error) {
	base, err := configs.Read(p.Name, []byte(p.Scenario), configs.Options{})
	if err != nil {
		return nil, err
	}
	z := &sizer{study: &configs.Study{SLO: p.SLO, Attainment: p.Attainment}, base: base}
	if err := z.limit(); err != nil {
		return nil, err
	}
	return &Maker{plan: p, base: base, slo: z.slo, shapes: map[shapeKey]*shape{}}, nil
}

// Make makes a run that was asked for. It is safe for concurrent use. An error is one of ctx.
func (m *Maker) Make(ctx context.Context, _ int, about json.RawMessage) (json.RawMessage, error) {
	x, err := m.make(ctx, about)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var a answer
	var b bytes.Buffer
	if err == nil {
		err = gob.NewEncoder(&b).Encode(&x)
	}
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Outcome = b.Bytes()
	}
	return json.Marshal(a)
}

func (m *Maker) make(ctx context.Context, about json.RawMessage) (x outcome, err error) {
	var o order
	if err := json.Unmarshal(about, &o); err != nil {
		return x, err
	}
	z := &sizer{ctx: ctx, base: m.base, slo: m.slo, several: m.plan.Several}
	s := m.shape(&o)
	s.once.Do(func() { z.tryShape(s) })
	if s.refused != "" {
		return x, errors.New(s.refused)
	}
	l := *s.load
	l.SessionS = o.SessionS
	z.load = &l
	return z.run(s.deploy(o.Replicas...), &o)
}

// shape returns the shape of a run, the same one whenever it is asked for.
func (m *Maker) shape(o *order) *shape {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := shapeKey{o.Topology, o.Setting}
	if m.shapes[key] == nil {
		m.shapes[key] = &shape{topology: o.Topology, setting: o.Setting, several: m.plan.Several}
	}
	return m.shapes[key]
}
