package configs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// Layout is how the GPUs of a replica share a model. 0 is what the scenario says, and no Expert is too unless Whole.
type Layout struct {
	Tensor, Pipeline, Data int
	Expert                 bool
	Whole                  bool // it says everything, Expert included
}

// layoutForm is a layout as it is written: tp8, tp8-pp2, dp16-ep, tp2-dp4-ep.
var layoutForm = regexp.MustCompile(`^(?:tp([0-9]{1,4}))?(?:-?pp([0-9]{1,4}))?(?:-?dp([0-9]{1,4}))?(-ep)?$`)

// ParseLayout returns the layout that a text such as tp2-dp4-ep names; false: it names none.
func ParseLayout(text string) (Layout, bool) {
	m := layoutForm.FindStringSubmatch(strings.ToLower(text))
	if m == nil || m[1]+m[2]+m[3] == "" {
		return Layout{}, false
	}
	l := Layout{Expert: m[4] != "", Whole: true}
	for i, n := range []*int{&l.Tensor, &l.Pipeline, &l.Data} {
		*n = 1
		if digits := m[i+1]; digits != "" {
			*n, _ = strconv.Atoi(digits)
		}
		if *n < 1 || *n > 1024 {
			return Layout{}, false
		}
	}
	return l, true
}

// LayoutOf returns the layout of a pool.
func LayoutOf(p *Pool) Layout {
	return Layout{p.TensorParallel, p.PipelineParallel, p.DataParallel, p.ExpertParallel, true}
}

// GPUs returns how many GPUs a replica takes.
func (l Layout) GPUs() int { return max(1, l.Tensor) * max(1, l.Pipeline) * max(1, l.Data) }

// String returns the layout as it is written; tp1 is said only where nothing else is.
func (l Layout) String() string {
	var parts []string
	add := func(name string, n int) { parts = append(parts, name+strconv.Itoa(n)) }
	if l.Tensor > 1 || l.Pipeline <= 1 && l.Data <= 1 {
		add("tp", max(1, l.Tensor))
	}
	if l.Pipeline > 1 {
		add("pp", l.Pipeline)
	}
	if l.Data > 1 {
		add("dp", l.Data)
	}
	if l.Expert {
		parts = append(parts, "ep")
	}
	return strings.Join(parts, "-")
}

// Layouts are those that a study looks at: the word auto alone, or layouts.
type Layouts []string

// AutoLayouts stands for the layouts that fit the memory of a GPU.
const AutoLayouts = "auto"

// Auto reports whether the layouts are those that fit.
func (l Layouts) Auto() bool { return len(l) == 1 && l[0] == AutoLayouts }

// DecodeScalar reads the word auto, or a list of layouts.
func (l *Layouts) DecodeScalar(n *yaml.Node) (err error) {
	*l, err = wordsOf(n, "expected auto, or a list such as [tp4, tp8-pp2, dp8-ep]")
	return err
}

// wordsOf reads a word or a list of words.
func wordsOf(n *yaml.Node, expected string) (words []string, err error) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	for _, element := range nodes {
		if element.Kind != yaml.ScalarNode || element.Tag != "!!str" {
			return nil, fmt.Errorf("%s, got %s", expected, strict.Describe(element))
		}
		words = append(words, element.Value)
	}
	return words, nil
}

// splitForm is a split as it is written: 1P3D.
var splitForm = regexp.MustCompile(`^([0-9]{1,7})[Pp]([0-9]{1,7})[Dd]$`)

// applySplit writes the replicas that split says into the prefill and the decode pool, and split is gone then: what is
// said twice may differ. A pool's own replicas yield to a split that stands above them, and must not contradict one
// that does not.
func (l *layers) applySplit(s *Scenario) error {
	if s.Split == "" && !s.origins.given("split") {
		return nil
	}
	m := splitForm.FindStringSubmatch(s.Split)
	if m == nil {
		return s.origins.errorf("split", "%q is no split; expected prefill and decode replicas, such as 1P3D", s.Split)
	}
	for i, role := range []string{RolePrefill, RoleDecode} {
		pools := s.PoolsOf(role)
		if len(pools) != 1 {
			return s.origins.errorf("split", "%q, but %d pools have the role %s; expected one", s.Split, len(pools), role)
		}
		n, _ := strconv.Atoi(m[i+1])
		path := fmt.Sprintf("pools[%d].replicas", pools[0])
		if p := &s.Pools[pools[0]]; p.Replicas != n && l.level(path) >= l.level("split") {
			return s.origins.errorf("split", "%q contradicts %s, %d; expected only one of them", s.Split, path, p.Replicas)
		}
		s.Pools[pools[0]].Replicas = n
		s.origins.moved(path, "split")
	}
	s.Split = ""
	return nil
}

// level returns how high the layer stands that says the value at path; 0: none does.
func (l *layers) level(path string) int {
	for i, layer := range []map[string]any{l.set, l.env, l.file} {
		if _, there := layer[path]; there {
			return 3 - i
		}
	}
	return 0
}

// moved lets errors about the value at path point at another, which it comes from.
func (o *origins) moved(path, from string) {
	delete(o.assigned, path)
	delete(o.where.At, path)
	if by, ok := o.assigned[from]; ok {
		o.assigned[path] = by
	} else if at, ok := o.where.At[from]; ok {
		o.where.At[path] = at
	}
}
