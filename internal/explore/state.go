package explore

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

// base is the scenario that controls change.
type base struct {
	name     string // of a built-in one; empty: the command's
	text     []byte
	scenario *configs.Scenario
	env      []string
}

// newBase reads a scenario with every default.
func newBase(name string, text []byte, env []string) (*base, error) {
	s, err := configs.Load("-", configs.Options{Stdin: text, Env: env})
	return &base{name, text, s, env}, err
}

// builtIn returns the text of a scenario that is built in. A name from a URL leads to no file.
func builtIn(name string) ([]byte, bool) {
	if !slices.Contains(configs.ScenarioNames(), name) {
		return nil, false
	}
	_, text, ok := catalog.Lookup("scenarios", name)
	return text, ok
}

// state is what a URL says.
type state struct {
	base   *base
	values map[string]string // by control: what was moved
}

// refusal is an error with the control that it is about.
type refusal struct {
	Control string `json:"control"` // empty: none
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

// scenarioKey is the key of the URL that names a built-in scenario.
const scenarioKey = "scenario"

// stateOf reads the query of a URL over the scenario of the command. A value that no control has is an error of that
// control, with which the others still have theirs.
func stateOf(q url.Values, own *base) (*state, error) {
	s := &state{own, map[string]string{}}
	if name := q.Get(scenarioKey); name != "" {
		text, ok := builtIn(name)
		if !ok {
			return s, &refusal{scenarioKey, fmt.Sprintf("scenario %.40q is not built in", name)}
		}
		b, err := newBase(name, text, own.env)
		if err != nil {
			return s, &refusal{scenarioKey, plain(err)}
		}
		s.base = b
	}
	known := controls()
	var wrong error
	for _, key := range slices.Sorted(maps.Keys(q)) {
		values := q[key]
		i := slices.IndexFunc(known, func(c control) bool { return c.key == key })
		switch {
		case key == scenarioKey:
		case i < 0:
			wrong = errors.Join(wrong, &refusal{"", fmt.Sprintf("the page has no control %.40q", key)})
		case len(values) != 1:
			wrong = errors.Join(wrong, &refusal{key, known[i].label + " is given twice"})
		default:
			if err := known[i].check(values[0]); err != nil {
				wrong = errors.Join(wrong, &refusal{key, err.Error()})
				continue
			}
			s.values[key] = values[0]
		}
	}
	return s, wrong
}

// text writes the scenario of the state: that of the base with what was changed.
func (s *state) text() ([]byte, error) {
	t, err := parse(s.base.text)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, c := range controls() {
		v, moved := s.values[c.key]
		if !moved && c.key == "requests" && c.not(s.base.scenario) == "" {
			v, moved = c.of(s.base.scenario), true
		}
		if !moved || c.edit == nil {
			continue
		}
		if c.not != nil {
			if why := c.not(s.base.scenario); why != "" {
				return nil, &refusal{c.key, why}
			}
		}
		if err := c.edit(t, s.base, v); err != nil {
			return nil, &refusal{c.key, err.Error()}
		}
		if c.key == "acceptance" && !s.drafts() {
			continue
		}
		changed = append(changed, c.key+"="+v)
	}
	if w := child(t.root(), "workload"); w != nil {
		unset(w, "precision") // a longer run would have other numbers
	}
	if err := s.shortenWarmUp(t); err != nil {
		return nil, err
	}
	text, err := t.text()
	return append([]byte(t.head(s.base.scenario.Name, changed)), text...), err
}

// shortenWarmUp leaves the same share of a run unmeasured as the scenario does, where the page's number of requests
// ends the run before its duration; otherwise nothing might be measured but what is left when arrivals have ended.
// Where requests wait for answers nothing says when they end, and all of it is measured.
func (s *state) shortenWarmUp(t *tree) error {
	w := &s.base.scenario.Workload
	if w.WarmupS == 0 || w.Requests > 0 || w.Trace != nil {
		return nil
	}
	rate, share := s.value("rate"), 0.
	switch {
	case w.Sessions != nil:
		rate *= w.Sessions.Turns.Mean
	case w.Agents != nil:
		rate *= w.Agents.Turns.Mean
	}
	if w.Arrivals != nil && rate > 0 {
		share = s.value("requests") / rate / w.DurationS
	}
	if share >= 1 {
		return nil
	}
	if share == 0 {
		unset(child(t.root(), "workload"), "warmup_s")
	} else if err := set(t.root(), "workload.warmup_s", math.Round(w.WarmupS*share)); err != nil {
		return err
	}
	t.notes = append(t.notes, "Its requests end before its duration: workload.warmup_s is shorter, as a share of the run")
	return nil
}

// value is the number that a control has, moved or not.
func (s *state) value(key string) float64 {
	all := controls()
	c := all[slices.IndexFunc(all, func(c control) bool { return c.key == key })]
	v, moved := s.values[key]
	if !moved {
		v = c.of(s.base.scenario)
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return 0
	}
	return x
}

// drafts reports whether anything drafts.
func (s *state) drafts() bool {
	v, moved := s.values["drafts"]
	return moved && v != noDrafts || !moved && s.base.scenario.Speculation.On()
}

// options load a text.
func (s *state) options(text []byte) configs.Options {
	return configs.Options{Stdin: text, Env: s.base.env}
}

// place is where an error stands in a text that nobody has seen.
var place = regexp.MustCompile(`^stdin:\d+:\d+: (pools\[0\]: )?`)

func plain(err error) string { return place.ReplaceAllString(err.Error(), "") }

// refused finds the control of an error: the one that names most of what it says.
func refused(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	r = &refusal{Message: plain(err)}
	longest := 0
	for _, c := range controls() {
		for _, path := range c.paths {
			if len(path) > longest && strings.Contains(r.Message, path) {
				r.Control, longest = c.key, len(path)
			}
		}
	}
	return r
}

// controlX is a control as the page has it.
type controlX struct {
	Key     string   `json:"key"`
	Label   string   `json:"label"`
	Unit    string   `json:"unit"`
	Single  string   `json:"single,omitempty"` // the unit where the value is 1; absent: as of several
	Group   string   `json:"group"`
	Choice  bool     `json:"choice"`
	Values  []string `json:"values"`
	Value   string   `json:"value"`
	Initial string   `json:"initial"` // where the URL does not say it
	Not     string   `json:"not"`     // why it cannot be moved; empty: it can
}

// controls are those of the page with their values. What the step has by itself is own.
func (s *state) controls(own map[string]string) (list []controlX) {
	for _, c := range controls() {
		x := controlX{Key: c.key, Label: c.label, Unit: c.unit, Single: c.single, Group: c.group, Choice: c.choice,
			Initial: own[c.key]}
		if c.of != nil {
			x.Initial = c.of(s.base.scenario)
		}
		if c.not != nil {
			x.Not = c.not(s.base.scenario)
		}
		if x.Not != "" {
			x.Initial = ""
		}
		if c.key == "acceptance" && !s.drafts() {
			x.Not = "without drafts it has no effect"
		}
		x.Value = x.Initial
		if v, moved := s.values[c.key]; moved {
			x.Value = v
		}
		x.Values = offered(&c, x.Initial, x.Value)
		list = append(list, x)
	}
	return list
}

// offered are the values of a control, those that it has among them.
func offered(c *control, have ...string) []string {
	values := slices.Clone(c.values)
	for _, v := range have {
		if v == "" || slices.Contains(values, v) {
			continue
		}
		i := 0
		if !c.choice {
			for i < len(values) && less(values[i], v) {
				i++
			}
		}
		values = slices.Insert(values, i, v)
	}
	return values
}

// less compares two numbers as they are written.
func less(a, b string) bool {
	var x, y float64
	_, _ = fmt.Sscan(a, &x)
	_, _ = fmt.Sscan(b, &y)
	return x < y
}
