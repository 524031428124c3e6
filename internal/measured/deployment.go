package measured

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// On puts the runs of a file that says only the load on the deployment of a scenario: the name of an embedded one, or a
// path. The load of the data takes the place of the scenario's own.
func (f *File) On(scenario string) error {
	base, err := readBase(scenario)
	if err != nil {
		return err
	}
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Over == "" {
			continue
		}
		r.Scenario, err = overlay(scenario, base, r.Over)
		if err != nil {
			return err
		}
	}
	return nil
}

// Replayed puts the runs of a file that says only the load on a scenario as it is: its trace is taken to be the
// requests that were measured, as decodesim serve records them. So runs with a load that no workload is like are
// simulated too. A clock on which speed simulated seconds pass in one is that of the measurements.
func (f *File) Replayed(scenario string, speed float64) error {
	base, err := readBase(scenario)
	if err != nil {
		return err
	}
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Over == "" {
			continue
		}
		r.Scenario = string(base)
		if r.Unlike {
			r.Skip, r.Unlike = "", false
		}
		for j := range r.Rows {
			for k := range r.Rows[j].Values {
				v := &r.Rows[j].Values[k]
				v.Unit.Factor = 1 / speed
				if v.Metric.perSecond() {
					v.Unit.Factor = speed
				}
			}
		}
	}
	return nil
}

// Whole reports, as an error, that a run lacks a deployment, which a scenario has to give.
func (f *File) Whole() error {
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Skip == "" && r.Scenario == "" && r.Priced == nil {
			return fmt.Errorf("%s: %s does not say on which GPUs and with which engine it was measured; expected that "+
				"deployment as --scenario, a name or a file, whose workload the data replace", f.Path, r.ID)
		}
	}
	return nil
}

// Takes reports whether some run goes onto a scenario.
func (f *File) Takes() bool {
	return slices.ContainsFunc(f.Runs, func(r Run) bool { return r.Over != "" })
}

// Label fills the labels of a run that the data leave open from its scenario as loaded, and refuses one of another
// model than was measured.
func (r *Run) Label(s *configs.Scenario) error {
	l := &r.Labels
	known := func(model string) bool { return slices.Contains(catalog.ModelNames(), model) }
	if l.Model != s.Model.Config && known(l.Model) && known(s.Model.Config) {
		return fmt.Errorf("run %s was measured with model %s; got a scenario with model %s; expected one with the model "+
			"that was measured", r.ID, l.Model, s.Model.Config)
	}
	p := &s.Pools[0]
	class := ""
	if known(s.Model.Config) {
		class = names.ClassOf(s.Model.Config)
	}
	l.Model = cmp.Or(l.Model, s.Model.Config)
	l.Class = cmp.Or(l.Class, class)
	l.GPU = cmp.Or(l.GPU, p.GPU.Name())
	l.Engine = cmp.Or(l.Engine, engineLabel(p))
	l.Mode = cmp.Or(l.Mode, modeOf(s))
	l.Precision = cmp.Or(l.Precision, s.Weights, ownOf(s.Model.Config))
	l.Parallel = cmp.Or(l.Parallel, names.LayoutOf(p.TensorParallel, p.DataParallel, p.ExpertParallel))
	return nil
}

// engineLabel names the engine of a pool: one that stands in for another has its efficiencies.
func engineLabel(p *configs.Pool) string {
	if slices.Contains(names.EnginesModelled, p.Efficiency.Base) {
		return p.Efficiency.Base
	}
	return strings.TrimSuffix(p.Engine, "-v1")
}

func modeOf(s *configs.Scenario) string {
	if slices.ContainsFunc(s.Pools, func(p configs.Pool) bool { return p.Role != "serve" }) {
		return "disagg"
	}
	return "agg"
}

func ownOf(model string) string {
	if !slices.Contains(catalog.ModelNames(), model) {
		return ""
	}
	return catalog.PublishedPrecision(model)
}

// readBase reads the text of a scenario. Its relative paths become absolute, for the merged text stands nowhere.
func readBase(scenario string) ([]byte, error) {
	if slices.Contains(configs.ScenarioNames(), scenario) {
		return catalog.File(scenario)
	}
	if _, err := os.Stat(scenario); os.IsNotExist(err) {
		return nil, fmt.Errorf("--scenario %q: no such file, and none of the scenarios that are built in (%s)", scenario,
			strings.Join(configs.ScenarioNames(), ", "))
	}
	text, err := catalog.ReadFile("--scenario", scenario)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(scenario))
	if err != nil {
		return nil, fmt.Errorf("--scenario %q: %w", scenario, err)
	}
	return absolutePaths(scenario, text, dir)
}

// absolutePaths rewrites what a scenario names relative to its folder, in place: a model's config.json,
// efficiencies and a trace.
func absolutePaths(name string, text []byte, dir string) ([]byte, error) {
	root, err := mapping(name, text)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	move := func(m *yaml.Node, key string) {
		at := indexOf(m, key)
		if at < 0 {
			return
		}
		v := m.Content[at+1]
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" || filepath.IsAbs(v.Value) || !isPath(dir, v.Value) {
			return
		}
		line := v.Line - 1
		head, tail := lines[line][:v.Column-1], lines[line][v.Column-1:]
		moved := bytes.Replace(tail, []byte(v.Value), []byte(filepath.Join(dir, v.Value)), 1)
		lines[line] = append(slices.Clone(head), moved...)
	}
	move(root, "model")
	if at := indexOf(root, "workload"); at >= 0 {
		if trace := indexOf(root.Content[at+1], "trace"); trace >= 0 {
			move(root.Content[at+1].Content[trace+1], "file")
		}
	}
	if at := indexOf(root, "pools"); at >= 0 {
		for _, pool := range root.Content[at+1].Content {
			move(pool, "efficiency")
			move(pool, "gpu")
		}
	}
	return bytes.Join(lines, []byte("\n")), nil
}

// isPath tells a path from a name of a catalog.
func isPath(dir, value string) bool {
	if catalog.IsModelPath(value) || slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(value)) {
		return true
	}
	at, err := os.Stat(filepath.Join(dir, value))
	return err == nil && value != "" && !at.IsDir()
}
