package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// control is one of the page: a key of its URL.
type control struct {
	key, label, unit, group string
	single                  string   // the unit of 1 of them; empty: as of several
	choice                  bool     // one of the values, and nothing between them
	values                  []string // that are offered
	low, high               float64  // of numbers
	whole                   bool
	paths                   []string // as errors have them
	of                      func(*configs.Scenario) string
	not                     func(*configs.Scenario) string         // why the scenario has no such thing; empty: it has
	edit                    func(t *tree, b *base, v string) error // nil: it is no part of the scenario
}

// The groups of controls.
const (
	groupMachine = "Model and machine"
	groupPools   = "Replicas"
	groupLoad    = "Load"
	groupDraft   = "Speculation"
	groupStep    = "The step explained"
)

// asCheckpoint is the value of weights that are as they were published.
const asCheckpoint = "as published"

// asComputed is the value of a KV cache in the numbers that the model computes with.
const asComputed = "as computed"

// noDrafts is the value of speculation that is off.
const noDrafts = "off"

// ratesOwn is the acceptance that the scenario has.
const ratesOwn = "the scenario's"

// acceptanceAssumed is the rate of a scenario that had no speculation.
const acceptanceAssumed = 0.7

// controls are those of the page, in its order.
func controls() []control {
	return slices.Concat(machine(), poolControls(), load(), drafting(), []control{
		{key: "batch", label: "Batch", unit: "sequences", single: "sequence", group: groupStep,
			low: 1, high: 1 << 20, whole: true,
			values: powers(1, 1024), paths: []string{"--batch"}},
		{key: "context", label: "Context", unit: "tokens each", single: "token each", group: groupStep,
			low: 1, high: 1 << 30, whole: true,
			values: powers(128, 1<<20), paths: []string{"--context"}},
	})
}

func machine() []control {
	return []control{
		{key: "model", label: "Model", group: groupMachine, choice: true, values: catalog.ModelNames(),
			paths: []string{"model", "pipeline_parallel", "expert_parallel", "enable_lora", "context_length", "max_seq_len"},
			of:    func(s *configs.Scenario) string { return s.Model.Config },
			edit:  func(t *tree, _ *base, v string) error { return set(t.root(), "model", v) }},
		{key: "gpu", label: "GPU", group: groupMachine, choice: true, values: catalog.GPUNames(), paths: []string{"gpu"},
			of: func(s *configs.Scenario) string { return s.Pools[0].GPU.From }, edit: onPools("gpu")},
		{key: "bandwidth", label: "Memory bandwidth", unit: "× the data sheet's", group: groupMachine, low: 0.1, high: 10,
			values: []string{"0.25", "0.5", "0.75", "1", "1.25", "1.5", "2", "3", "4", "8"}, paths: []string{"bandwidth_bps"},
			of: func(*configs.Scenario) string { return "1" }, edit: bandwidth},
		{key: "weights", label: "Weights", group: groupMachine, choice: true,
			values: append([]string{asCheckpoint}, llm.Dtypes()...), paths: []string{"weights"},
			of:   func(s *configs.Scenario) string { return cmp.Or(s.Weights, asCheckpoint) },
			edit: optional("weights", asCheckpoint)},
		{key: "kv", label: "KV cache", group: groupMachine, choice: true,
			values: append([]string{asComputed}, hardware.KVDtypes()...), paths: []string{"kv_cache"},
			of:   func(s *configs.Scenario) string { return cmp.Or(s.KVCache, asComputed) },
			edit: optional("kv_cache", asComputed)},
		{key: "tp", label: "Tensor parallel", unit: "GPUs", single: "GPU", group: groupMachine,
			low: 1, high: 1024, whole: true,
			values: powers(1, 64), paths: []string{"does not fit on", "tensor_parallel"},
			of:   func(s *configs.Scenario) string { return strconv.Itoa(s.Pools[0].TensorParallel) },
			edit: onPools("tensor_parallel")},
		engine(),
	}
}

// optional sets a key of the scenario, which it does not have with one value.
func optional(key, without string) func(*tree, *base, string) error {
	return func(t *tree, _ *base, v string) error {
		if v == without {
			unset(t.root(), key)
			return nil
		}
		return set(t.root(), key, v)
	}
}

func load() []control {
	mean := func(which string, of func(*configs.Workload) (float64, bool)) control {
		path := which + "_tokens"
		return control{key: which, unit: "tokens, mean", single: "token, mean", group: groupLoad, low: 1, high: 1e6,
			values: []string{"16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536"},
			paths:  []string{path, "max_model_len"},
			of: func(s *configs.Scenario) string {
				x, _ := of(&s.Workload)
				return number(x)
			},
			not: func(s *configs.Scenario) string {
				if _, ok := of(&s.Workload); !ok {
					return "lengths of this scenario have no one mean to change"
				}
				return ""
			},
			edit: func(t *tree, _ *base, v string) error { return setNumber(t, "workload."+path+".mean", v) }}
	}
	prompt := mean("prompt", func(w *configs.Workload) (float64, bool) {
		return meanOf(w.PromptTokens != nil && w.PromptTokens.Mean > 0, func() float64 { return w.PromptTokens.Mean })
	})
	output := mean("output", func(w *configs.Workload) (float64, bool) {
		return meanOf(w.OutputTokens != nil && w.OutputTokens.Mean > 0, func() float64 { return w.OutputTokens.Mean })
	})
	prompt.label, output.label = "Prompt", "Output"
	return []control{rate(), prompt, output, requests()}
}

func meanOf(ok bool, x func() float64) (float64, bool) {
	if !ok {
		return 0, false
	}
	return x(), true
}

func rate() control {
	return control{key: "rate", label: "Load", unit: "requests/s", group: groupLoad, low: 1e-3, high: 1e4,
		values: []string{"0.1", "0.2", "0.5", "1", "2", "3", "4", "6", "8", "10", "12", "16", "20", "24", "32", "48", "64",
			"100", "200"},
		paths: []string{"rate"},
		of: func(s *configs.Scenario) string {
			if s.Workload.Arrivals == nil {
				return "0"
			}
			return number(s.Workload.Arrivals.Rate)
		},
		not: func(s *configs.Scenario) string {
			if a := s.Workload.Arrivals; a == nil || a.Rate == 0 {
				return "requests of this scenario do not come at one rate"
			}
			return ""
		},
		edit: func(t *tree, _ *base, v string) error { return setNumber(t, "workload.arrivals.rate", v) }}
}

// The requests of a run: so many where nobody says how many, and no more.
const (
	requestsUsual = 2000
	requestsMost  = 10000
)

func requests() control {
	return control{key: "requests", label: "Requests simulated", unit: "", group: groupLoad, low: 100, high: requestsMost,
		whole: true, values: []string{"200", "500", "1000", "2000", "3000", "5000", "10000"}, paths: []string{"requests"},
		of: func(s *configs.Scenario) string {
			if n := s.Workload.Requests; n > 0 && n < requestsUsual {
				return strconv.FormatInt(n, 10)
			}
			return strconv.Itoa(requestsUsual)
		},
		not: func(s *configs.Scenario) string {
			if s.Workload.Trace != nil {
				return "a trace is replayed as it is"
			}
			return ""
		},
		edit: func(t *tree, _ *base, v string) error { return setNumber(t, "workload.requests", v) }}
}

func drafting() []control {
	return []control{
		{key: "drafts", label: "Drafts", unit: "tokens a step", group: groupDraft, choice: true,
			values: []string{noDrafts, "1", "2", "3", "4", "5", "6", "8", "12", "16"}, paths: []string{"speculation"},
			of: func(s *configs.Scenario) string {
				if !s.Speculation.On() {
					return noDrafts
				}
				return strconv.Itoa(s.Speculation.DraftsMax())
			}, edit: drafts},
		{key: "acceptance", label: "Accepted", unit: "of each draft after accepted ones", group: groupDraft, choice: true,
			values: []string{"0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"}, paths: []string{"acceptance"},
			of: func(s *configs.Scenario) string {
				switch a := s.Speculation.Acceptance; {
				case !s.Speculation.On():
					return number(acceptanceAssumed)
				case a != nil && a.Process == "iid":
					return number(a.Rate)
				}
				return ratesOwn
			}, edit: acceptance},
	}
}

// drafts turns speculation off, or on with an EAGLE head where the scenario has none.
func drafts(t *tree, b *base, v string) error {
	if v == noDrafts {
		unset(t.root(), "speculation")
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return err
	}
	if !b.scenario.Speculation.On() {
		return set(t.root(), "speculation", eagle{"eagle", n, iid{"iid", acceptanceAssumed}})
	}
	unset(child(t.root(), "speculation"), "adaptive")
	return set(t.root(), "speculation.num_speculative_tokens", n)
}

// eagle is a section of speculation by a head of the model.
type eagle struct {
	Method     string `yaml:"method"`
	Tokens     int    `yaml:"num_speculative_tokens"`
	Acceptance iid    `yaml:"acceptance"`
}

// iid is a section of acceptance, each draft like another.
type iid struct {
	Process string  `yaml:"process"`
	Rate    float64 `yaml:"rate"`
}

// acceptance has no effect where nothing is drafted.
func acceptance(t *tree, _ *base, v string) error {
	if v == ratesOwn || child(t.root(), "speculation") == nil {
		return nil
	}
	rate, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return err
	}
	return set(t.root(), "speculation.acceptance", iid{"iid", rate})
}

// powers are powers of two from one to another.
func powers(from, to int) (values []string) {
	for n := from; n <= to; n *= 2 {
		values = append(values, strconv.Itoa(n))
	}
	return values
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// setNumber sets a number as it is written in the URL.
func setNumber(t *tree, path, v string) error {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return set(t.root(), path, n)
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return err
	}
	return set(t.root(), path, x)
}

// check refuses a value that the control does not have.
func (c *control) check(v string) error {
	if c.choice {
		if slices.Contains(c.values, v) {
			return nil
		}
		return fmt.Errorf("%s is %.40q; expected a value that is offered", c.label, v)
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || len(v) > 20 || !(x >= c.low && x <= c.high) || c.whole && x != float64(int(x)) {
		kind := "a number"
		if c.whole {
			kind = "a whole number"
		}
		return fmt.Errorf("%s is %.40q; expected %s from %s to %s", c.label, v, kind, number(c.low), number(c.high))
	}
	if c.whole {
		if _, err := strconv.Atoi(v); err != nil {
			return fmt.Errorf("%s is %.40q; expected digits alone", c.label, v)
		}
	}
	return nil
}
