package configs

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

// SweepStudy says what a sweep varies, as the flags of decodesim sweep do. Its tags mean what those of Scenario do.
type SweepStudy struct {
	Name     string   `yaml:"name,omitempty" doc:"of the study; null: that of its file"`
	Scenario string   `yaml:"scenario" doc:"name or path: what is varied"`
	Set      []string `yaml:"set,omitempty" doc:"key=value over the scenario's, as --set has them; null: none"`
	Over     []string `yaml:"over,omitempty" doc:"an axis each, as --over has them, such as [rate=10:80:10, 'max_num_seqs=32,64']; null: ladder"`
	Ladder   bool     `yaml:"ladder,omitempty" doc:"an axis of loads, from a tenth of the scenario's to four times it; null: none"`
	Seeds    int      `yaml:"seeds" bound:"[1,1000]" doc:"runs of each point, from the scenario's seed on"`
	Plots    []string `yaml:"plots,omitempty" doc:"figures, as --plot has them, such as ['rate,ttft_p95_s']; null: the usual ones"`
}

// LoadSweep returns the study of a YAML file.
func LoadSweep(path string) (*SweepStudy, error) {
	src, err := openFile("study", "sweeps", path, nil)
	if err != nil {
		return nil, err
	}
	s := &SweepStudy{Seeds: 1}
	where, err := strict.Decode(src.file, src.data, s)
	if err != nil {
		return nil, err
	}
	if s.Name == "" {
		base := filepath.Base(src.file)
		s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if isScenarioPath(s.Scenario) {
		s.Scenario = absolute(src.dir, s.Scenario)
	}
	switch {
	case s.Scenario == "":
		return nil, where.Errorf("scenario", "is missing; expected a name or a path to a YAML file")
	case len(s.Over) == 0 && !s.Ladder:
		return nil, where.Errorf("over", "is missing; expected axes, such as [rate=10:80:10], or ladder: true")
	case s.Seeds < 1 || s.Seeds > 1000:
		return nil, where.Errorf("seeds", "%d is out of range; expected 1 to 1000", s.Seeds)
	}
	return s, nil
}

// FleetStudy asks for deployments of several models that share a budget: what each has to sustain its own study says.
// Its tags mean what those of Scenario do.
type FleetStudy struct {
	Name   string      `yaml:"name,omitempty" doc:"of the results; null: that of the file"`
	Budget StudyBudget `yaml:"budget" about:"what all deployments may take together"`
	Fleet  []string    `yaml:"fleet" doc:"studies, names or paths, each with the rate that its model has to sustain (rate.at)"`
}

// IsFleet reports whether a study's file is one of a fleet. A file that cannot be read is none.
func IsFleet(nameOrPath string) bool {
	src, err := openFile("study", "studies", nameOrPath, StudyNames())
	if err != nil {
		return false
	}
	return strict.HasKey(src.data, "fleet")
}

// LoadFleet returns the study of a fleet and those of its members, each with no more budget than all have together. The
// settings stand above every member's.
func LoadFleet(nameOrPath string, set []string) (*FleetStudy, []*Study, error) {
	src, err := openFile("study", "studies", nameOrPath, StudyNames())
	if err != nil {
		return nil, nil, err
	}
	f := &FleetStudy{}
	where, err := strict.Decode(src.file, src.data, f)
	if err != nil {
		return nil, nil, err
	}
	if f.Name == "" {
		base := filepath.Base(src.file)
		f.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if len(f.Fleet) == 0 {
		return nil, nil, where.Errorf("fleet", "is missing; expected studies, such as [chat.yaml, code.yaml]")
	}
	b := &f.Budget
	if b.GPUs < 0 || b.USDPerHour < 0 || b.PowerW < 0 {
		return nil, nil, where.Errorf("budget", "has a limit below 0; expected gpus, usd_per_hour and power_w above it")
	}
	var members []*Study
	for _, name := range f.Fleet {
		path := name
		if isScenarioPath(path) {
			path = absolute(src.dir, path)
		}
		s, err := LoadStudy(path, set)
		if err != nil {
			return nil, nil, err
		}
		if s.Rate.At == 0 {
			return nil, nil, where.Errorf("fleet", "%q searches for the most that it can sustain; expected rate.at, the rate "+
				"that its model has to sustain", name)
		}
		if slices.ContainsFunc(members, func(o *Study) bool { return o.Name == s.Name }) {
			return nil, nil, where.Errorf("fleet", "two studies are named %q; expected a name for each", s.Name)
		}
		s.Budget.within(b)
		members = append(members, s)
	}
	return f, members, nil
}

// YAML returns the study as a file that LoadFleet reads back.
func (f *FleetStudy) YAML() []byte {
	w := scenarioWriter{}
	w.WriteString("# Models that share a budget; it runs as it stands.\n")
	w.keys(reflect.ValueOf(f).Elem(), "", "")
	return w.Bytes()
}

// within bounds a budget by another.
func (b *StudyBudget) within(all *StudyBudget) {
	if all.GPUs > 0 && (b.GPUs == 0 || b.GPUs > all.GPUs) {
		b.GPUs = all.GPUs
	}
	if all.USDPerHour > 0 && (b.USDPerHour == 0 || b.USDPerHour > all.USDPerHour) {
		b.USDPerHour = all.USDPerHour
	}
	if all.PowerW > 0 && (b.PowerW == 0 || b.PowerW > all.PowerW) {
		b.PowerW = all.PowerW
	}
}
