package configs

import (
	"path/filepath"
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
