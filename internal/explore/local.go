package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

// own is the scenario that a page begins from, as a page without a server has it.
type own struct {
	Text string   `json:"text"`
	Env  []string `json:"env"` // the variables that change it
}

// variables are those of an environment that change scenarios.
func variables(env []string) []string {
	ours := []string{}
	for _, v := range env {
		if strings.HasPrefix(v, "DECODESIM_") && !strings.HasPrefix(v, "DECODESIM_SHARED=") {
			ours = append(ours, v)
		}
	}
	return ours
}

// Local answers a page where there is no server: in the page itself, one question after the other.
type Local struct {
	own     *base
	version string
}

// NewLocal reads the scenario as the page has it.
func NewLocal(text []byte, version string) (*Local, error) {
	var o own
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	b, err := newBase("", []byte(o.Text), o.Env)
	return &Local{b, version}, err
}

// Answer returns what a server would answer to a path and a query. Nothing else runs meanwhile, so that the page has to
// end a run that takes too long.
func (l *Local) Answer(path, query string) ([]byte, error) {
	q, err := url.ParseQuery(query)
	if err != nil || len(query) > queryMost {
		return nil, fmt.Errorf("the query cannot be read")
	}
	switch path {
	case "step":
		return json.Marshal(stepOf(context.Background(), q, l.own))
	case "first":
		return l.simulate(q, first)
	case "run":
		return l.simulate(q, simulate)
	}
	return nil, fmt.Errorf("nothing answers %q", path)
}

func (l *Local) simulate(q url.Values, simulate simulator) ([]byte, error) {
	x, err := simulate(context.Background(), q, l.own, l.version)
	if err != nil {
		return nil, err
	}
	return json.Marshal(x)
}

// reads names the first file that a scenario is read from beside its own; empty: none.
func reads(s *configs.Scenario) string {
	w := &s.Workload
	switch {
	case w.Trace != nil:
		return "workload.trace"
	case w.Lengths != nil && w.Lengths.File != "":
		return "workload.lengths.file"
	}
	if _, _, ok := catalog.Lookup("models", s.Model.Config); !ok {
		return "model"
	}
	if catalog.IsModelPath(s.Speculation.DraftModel) {
		return "speculation.draft_model"
	}
	for i := range s.Pools {
		if catalog.IsModelPath(s.Pools[i].Model) {
			return fmt.Sprintf("pools[%d].model", i)
		}
		if catalog.IsEfficiencyPath(s.Pools[i].Efficiency.Base) {
			return fmt.Sprintf("pools[%d].efficiency", i)
		}
		if _, _, ok := catalog.Lookup("gpus", s.Pools[i].GPU.From); !ok {
			return fmt.Sprintf("pools[%d].gpu", i)
		}
		if _, _, ok := catalog.Lookup("engines", s.Pools[i].Engine); !ok {
			return fmt.Sprintf("pools[%d].engine", i)
		}
	}
	return ""
}
