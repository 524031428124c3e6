package traffic

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// presetDir is where presets are embedded.
const presetDir = "workloads"

// Preset is a workload that is built in, with the statistics that were published of traffic like it.
type Preset struct {
	Name      string     `yaml:"name"`
	Published *Published `yaml:"published"`
	Block     string     `yaml:"block"` // of a scenario, as YAML

	Head  string   `yaml:"-"` // the comments that it opens with: what it is, and where its numbers are from
	Drawn *Summary `yaml:"-"` // of requests that it sends
	waits bool     // for answers, so that a simulation has drawn it
}

// Published is what was published of a trace. What is 0 was not.
type Published struct {
	Requests   int64            `yaml:"requests"`
	Rate       float64          `yaml:"rate"` // requests/s; 0: it has no arrivals, or they follow from the deployment
	GapCV      float64          `yaml:"gap_cv"`
	PeakIn1S   int64            `yaml:"busiest_second"` // requests
	Dispersion []float64        `yaml:"dispersion"`     // in windows of 1, 10 and 60 s
	Prompt     PublishedLengths `yaml:"prompt_tokens"`
	Output     PublishedLengths `yaml:"output_tokens"`
	Shared     float64          `yaml:"shared"` // of the prompt tokens, in an earlier prompt; 0: unknown
}

// PublishedLengths are statistics of token counts.
type PublishedLengths struct {
	Mean float64 `yaml:"mean"`
	P50  int32   `yaml:"p50"`
	P99  int32   `yaml:"p99"`
}

// PresetNames returns the presets that are built in.
func PresetNames() []string { return catalog.PresetNames() }

// ReadPreset returns the preset of a name.
func ReadPreset(name string) (*Preset, error) {
	file, data, ok := catalog.Lookup(presetDir, name)
	if !ok {
		return nil, strict.NotFound("preset", name, PresetNames())
	}
	p := &Preset{}
	if _, err := strict.Decode(file, data, p); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		p.Head += line
	}
	return p, nil
}

// About is the first line of a preset: what it is.
func (p *Preset) About() string {
	line, _, _ := strings.Cut(strings.TrimPrefix(p.Head, "# "), "\n")
	return line
}

// presetOn is the deployment on which a preset that waits for answers is simulated: it has the contexts of agents.
const presetOn = "model: deepseek-v4-flash\npools: [{gpu: b200-sxm, tensor_parallel: 4, replicas: 2}]\n"

// Draw has the preset send its requests and describes them. Those that wait for answers are simulated.
func (p *Preset) Draw(ctx context.Context, seed uint64) error {
	s, err := configs.Read("preset.yaml", []byte(presetOn+p.Block), configs.Options{Seed: &seed})
	if err != nil {
		return err
	}
	b, err := build.New(s)
	if err != nil {
		return err
	}
	defer b.Close()
	r := NewRecord(true, b.Config.Contents)
	f, waits := b.Config.Source.(sim.Follower)
	p.waits = waits
	if !waits {
		r.Read(b.Config.Source, 0)
		p.Drawn = r.Summary(p.Name)
		return b.SourceErr()
	}
	b.Config.Source = struct {
		sim.Source
		sim.Follower
	}{recorded{b.Config.Source, r}, f}
	b.Config.Sink = &metrics.Full{}
	if _, err := run.Drive(ctx, b.Config); err != nil {
		return err
	}
	p.Drawn = r.Summary(p.Name)
	return b.SourceErr()
}

// recorded records the requests that a run takes from a source.
type recorded struct {
	sim.Source
	record *Record
}

// Next implements sim.Source.
func (n recorded) Next(r *sim.Request) bool {
	if !n.Source.Next(r) {
		return false
	}
	n.record.Add(r)
	return true
}

// Text is the block with its sources and its statistics beside those that were published, in comments: a file to keep.
func (p *Preset) Text() string {
	page := text.NewPage(false)
	page.Table(p.likeness())
	if p.waits {
		page.Blank()
		page.Line("Drawn: its requests on eight B200s under DeepSeek V4 Flash, whose answers its turns wait for.")
	}
	var out strings.Builder
	out.WriteString(p.Head + "#\n")
	for line := range strings.Lines(page.String()) {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return out.String() + p.Block
}

// likeness sets what was published beside the statistics of requests of the preset.
func (p *Preset) likeness() [][]string {
	return likeness("published", "drawn", p.published(), p.Drawn)
}

// published returns what was published as the summary of a trace.
func (p *Preset) published() *Summary {
	unknown := stats.Number(math.NaN())
	s := &Summary{RatePerS: unknown, PeakIn1S: unknown, GapCV: unknown, SharedShare: unknown, Correlation: unknown}
	for _, w := range windowsS() {
		s.Dispersion = append(s.Dispersion, Dispersion{WindowS: w, Index: unknown})
	}
	of := p.Published
	s.Requests = of.Requests
	if of.Rate > 0 {
		s.RatePerS, s.GapCV, s.PeakIn1S = stats.Number(of.Rate), stats.Number(of.GapCV), stats.Number(of.PeakIn1S)
		for i, x := range of.Dispersion {
			s.Dispersion[i].Index = stats.Number(x)
		}
	}
	if of.Shared > 0 {
		s.SharedShare = stats.Number(of.Shared)
	}
	s.Prompt = Lengths{Mean: of.Prompt.Mean, P50: of.Prompt.P50, P99: of.Prompt.P99}
	s.Output = Lengths{Mean: of.Output.Mean, P50: of.Output.P50, P99: of.Output.P99}
	return s
}

// ListPresets says what the presets are.
func ListPresets() (string, error) {
	var out strings.Builder
	for _, name := range PresetNames() {
		p, err := ReadPreset(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%-15s %s\n", name, p.About())
	}
	return out.String(), nil
}
