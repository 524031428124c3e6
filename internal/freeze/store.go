package freeze

import (
	"context"
	"encoding/gob"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim"
)

// Store keeps what was frozen in a file, so that another form of step prices can be tried on the same batches without
// a simulation. Runs whose batches depend on prices are as they were when they were frozen.
type Store struct {
	path  string
	mu    sync.Mutex
	saved map[uint64]saved

	Start map[string]map[string]float64 // where the last fit ended
}

// saved is a frozen run without what its scenario says.
type saved struct {
	Skip    string
	FloorMS float64
	Shapes  []sim.Shape
	Values  []savedValue
}

type savedValue struct {
	Row, Value      int
	Predicted, Mean float64
	Idle, Entries   float64
	Tokens          float64
	At              []int32 // the shapes that it waits for, and how many steps of each
	Share           []float64
}

// OpenStore reads the file, which need not exist.
func OpenStore(path string) (*Store, error) {
	s := &Store{path: path, saved: map[uint64]saved{}}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := gob.NewDecoder(file)
	if err := d.Decode(&s.saved); err != nil {
		return nil, err
	}
	_ = d.Decode(&s.Start) // of none yet
	return s, nil
}

// Close writes what was frozen anew.
func (s *Store) Close() error {
	file, err := os.Create(s.path)
	if err != nil {
		return err
	}
	e := gob.NewEncoder(file)
	if err := errors.Join(e.Encode(s.saved), e.Encode(s.Start)); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// Freeze is Freeze, unless the run is in the store.
func (s *Store) Freeze(ctx context.Context, run *measured.Run, above configs.Options, with validation.Efficiencies,
	want func(*measured.Row, *measured.Value) bool) (*Frozen, string) {
	if run.Skip != "" {
		return nil, run.Skip
	}
	h := fnv.New64()
	_, _ = h.Write([]byte(run.ID + "\n" + run.Scenario))
	key := h.Sum64()
	s.mu.Lock()
	have, ok := s.saved[key]
	s.mu.Unlock()
	if ok {
		return have.frozen(run, above, with)
	}
	f, skip := Freeze(ctx, run, above, with, want)
	if ctx.Err() == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.saved[key] = saving(run, f, skip)
	}
	return f, skip
}

func saving(run *measured.Run, f *Frozen, skip string) saved {
	x := saved{Skip: skip}
	if f == nil {
		return x
	}
	x.FloorMS, x.Shapes = f.FloorMS, f.shapes
	for i := range f.Values {
		v := &f.Values[i]
		y := savedValue{Predicted: v.Predicted, Mean: v.mean, Idle: v.wait.rest, Entries: v.wait.entries,
			Tokens: v.wait.tokens}
		for r := range run.Rows {
			for j := range run.Rows[r].Values {
				if &run.Rows[r].Values[j] == v.Value {
					y.Row, y.Value = r, j
				}
			}
		}
		for k, share := range v.wait.share {
			if share != 0 {
				y.At, y.Share = append(y.At, int32(k)), append(y.Share, share)
			}
		}
		x.Values = append(x.Values, y)
	}
	return x
}

func (x *saved) frozen(run *measured.Run, above configs.Options, with validation.Efficiencies) (*Frozen, string) {
	if x.Skip != "" {
		return nil, x.Skip
	}
	b, skip := validation.Build(context.Background(), run, above, with)
	if skip != "" {
		return nil, skip
	}
	defer b.Close()
	f := &Frozen{Run: run, Deployment: b.Deployment, FloorMS: x.FloorMS, shapes: x.Shapes,
		model: &repriced{base: hardware.NewRoofline(b.Deployment, 0)}}
	for _, y := range x.Values {
		row := &run.Rows[y.Row]
		v := FrozenValue{Row: row, Value: &row.Values[y.Value], Predicted: y.Predicted, mean: y.Mean,
			wait: waited{rest: y.Idle, entries: y.Entries, tokens: y.Tokens, share: make([]float64, len(x.Shapes))}}
		for k, at := range y.At {
			v.wait.share[at] = y.Share[k]
		}
		f.Values = append(f.Values, v)
	}
	return f, ""
}
