package vllmargs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// page writes a scenario line by line and remembers which flag each line comes from.
type page struct {
	lines []string
	flags []string
}

func (p *page) say(format string, args ...any) {
	p.lines = append(p.lines, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.flags = append(p.flags, "")
}

// commentColumn is where comments start behind a line that is not longer.
const commentColumn = 36

// key writes a key and the flag that it comes from.
func (p *page) key(indent string, s setting) {
	line := fmt.Sprintf("%s%s: %s", indent, s.key, s.value)
	if s.by != "" {
		line = fmt.Sprintf("%-*s # %s", commentColumn, line, oneLine(s.by))
	}
	p.lines = append(p.lines, line)
	p.flags = append(p.flags, s.by)
}

// oneLine keeps a comment from ending where a character ends lines.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return ' '
		}
		return r
	}, text)
}

// list writes lines that belong to a heading, as comments.
func (p *page) list(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.say("#")
	p.say("# %s", heading)
	for _, l := range lines {
		p.say("#   %s", oneLine(l))
	}
}

// write writes the scenario of one server, or of one for each role.
func write(all []*draft, gpu string, m served) (*Import, error) {
	d, said := all[0], &draft{}
	weights := d.weights(listedName(m), m.weights)
	cache := d.cache(m.written, cmp.Or(m.weights, weights.value))
	layouts := make([][]setting, len(all))
	for i, of := range all {
		own := of.weights(listedName(m), m.weights)
		for _, pair := range [][2]setting{{weights, own}, {cache, of.cache(m.written, cmp.Or(m.weights, own.value))}} {
			if one, other := pair[0], pair[1]; one.value != other.value {
				return nil, fmt.Errorf("one server has %s and the other %s; expected the same number formats",
					cmp.Or(one.by, "no flag for "+other.key), cmp.Or(other.by, "no flag for "+one.key))
			}
		}
		var err error
		layouts[i], err = of.finish(m)
		if err != nil {
			return nil, err
		}
		said.join(of)
	}
	i := &Import{}
	i.remark(said)
	p := &page{}
	p.say("# A server's command line as a scenario. What it leaves out is absent here too, and is the engine's default.")
	p.list("Not modelled, so results will differ:", i.Differs)
	p.list("Unknown:", i.Unknown)
	p.list("Without influence here:", i.Idle)
	p.list("Notes:", i.Notes)
	p.key("", setting{key: "name", value: yamlText(title(m))})
	model := setting{key: "model", value: yamlText(m.name), by: m.written}
	if m.written == m.name {
		model.by = ""
	}
	p.key("", model)
	for _, s := range []setting{weights, cache} {
		if s.key != "" && s.value != "" {
			p.key("", s)
		}
	}
	p.say("pools:")
	for i, of := range all {
		of.pooled(p, gpu, layouts[i])
	}
	if d.router.key != "" {
		p.key("", d.router)
	}
	if said.stream.key != "" {
		p.say("stream:")
		p.key("  ", said.stream)
	}
	said.engine = d.engine
	said.speculation(p, m)
	d.workload(p)
	i.take(p)
	return i, nil
}

// finish settles what depends on several flags, and returns how a replica is split.
func (d *draft) finish(m served) ([]setting, error) {
	for _, settle := range []func() error{d.blocks, d.batchWaits, d.priorities, d.hostMemory, d.lmcacheTiers, d.fit} {
		if err := settle(); err != nil {
			return nil, err
		}
	}
	return d.layout(m.sparse)
}

// join takes what is said of the whole deployment from one of its servers: drafts and streaming are those of the last
// that has any, which is the one that decodes.
func (d *draft) join(of *draft) {
	d.idles, d.differing = append(d.idles, of.idles...), append(d.differing, of.differing...)
	d.unknown = append(d.unknown, of.unknown...)
	for _, note := range of.notes {
		if !slices.Contains(d.notes, note) {
			d.notes = append(d.notes, note)
		}
	}
	if len(of.drafts.by) > 0 {
		d.drafts = of.drafts
	}
	if of.stream.key != "" {
		d.stream = of.stream
	}
}

// pooled writes the pool of a server.
func (d *draft) pooled(p *page, gpu string, layout []setting) {
	p.key("  - ", setting{key: "name", value: cmp.Or(d.role.value, "serve")})
	if d.role.key != "" {
		p.key("    ", d.role)
	}
	p.key("    ", setting{key: "gpu", value: gpu, by: "--gpu " + d.options.GPU})
	for _, s := range layout {
		p.key("    ", s)
	}
	p.key("    ", setting{key: "engine", value: d.engine})
	for _, s := range d.pool {
		p.key("    ", s)
	}
}

func listedName(m served) string {
	if m.listed {
		return m.name
	}
	return ""
}

// title names the scenario after its model.
func title(m served) string {
	if m.listed {
		return m.name
	}
	last := filepath.Base(repository(cmp.Or(m.written, filepath.Dir(m.name))))
	return cmp.Or(strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(last, "-"), ".-"), "imported")
}

// plain matches text that YAML reads as itself.
var plain = regexp.MustCompile(`^[A-Za-z./][A-Za-z0-9._/-]*$`)

func yamlText(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// The placeholder of a workload, for servers whose longest sequence is well above it.
const (
	ratePlaceholder   = 1.0
	promptPlaceholder = 512.0
	outputPlaceholder = 128.0
)

// workload writes the load, which a command line does not say.
func (d *draft) workload(p *page) {
	l := d.options.Load
	if l.Rate == 0 || l.Prompt == 0 || l.Output == 0 {
		p.say("# A placeholder, for a command line says nothing of its load: replace it, or import with --rate, --prompt " +
			"and --output.")
	}
	prompt, output := promptPlaceholder, outputPlaceholder
	if longest := d.longest(); longest > 0 {
		prompt, output = max(1, min(prompt, longest/8)), max(1, min(output, longest/32))
	}
	p.say("workload:")
	p.say("  arrivals: {process: poisson, rate: %s}", decimal(cmp.Or(l.Rate, ratePlaceholder)))
	p.say("  prompt_tokens: {distribution: lognormal, mean: %s, cv: 1}", decimal(cmp.Or(l.Prompt, prompt)))
	p.say("  output_tokens: {distribution: lognormal, mean: %s, cv: 1}", decimal(cmp.Or(l.Output, output)))
	p.say("  requests: 1000")
}

// longest returns the tokens of the longest sequence that the flags allow; 0: they do not say.
func (d *draft) longest() float64 {
	for _, key := range []string{"max_model_len", "context_length", "max_seq_len"} {
		if n, err := strconv.ParseInt(d.value(key), 10, 64); err == nil {
			return float64(n)
		}
	}
	return 0
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
