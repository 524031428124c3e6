package vllmargs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// Options are what a command line does not say.
type Options struct {
	GPU         string   // as catalogs, drivers or data sheets spell it
	ModelConfig string   // path to the model's config.json; empty: the model is the catalog's
	Engine      string   // one of Engines; empty: as the command says
	Vars        []string // NAME=VALUE, for variables of the text
	Load        Load
	ReadFile    func(path string) ([]byte, error) // reads what the command line names
}

// Load is a workload to put in place of the placeholder; what is 0 stays one.
type Load struct{ Rate, Prompt, Output float64 }

// Import is what a command line became.
type Import struct {
	Text    []byte // a scenario
	Taken   []string
	Idle    []string // lines, as of all that follow: flags, and why no simulated number depends on them
	Differs []string // flags that change what users feel and are not modelled
	Unknown []string
	Notes   []string

	flags []string // by line of Text: the flag that it comes from
}

// Read makes a scenario of a text that starts one server, or of a Compose file or Kubernetes manifest that does.
func Read(text string, o Options) (*Import, error) {
	v, err := newVariables(o.Vars)
	if err != nil {
		return nil, err
	}
	script, ok, err := manifest(text)
	if err != nil {
		return nil, err
	}
	if ok {
		text = script
	}
	l, err := split(text, v)
	if err != nil {
		return nil, err
	}
	return l.scenario(o)
}

// ReadWords is Read of words that a shell has split already.
func ReadWords(words []string, o Options) (*Import, error) {
	v, err := newVariables(o.Vars)
	if err != nil {
		return nil, err
	}
	l := &lexer{variables: v}
	for _, w := range words {
		l.add(w, w)
	}
	l.end()
	return l.scenario(o)
}

func (l *lexer) scenario(o Options) (*Import, error) {
	servers, err := l.find(o.Engine)
	if err != nil {
		return nil, err
	}
	o.ReadFile = l.reader(o.ReadFile)
	var all []*draft
	for _, s := range servers {
		d, err := draftOf(s, o)
		if err != nil {
			return nil, err
		}
		d.lmcache.value, d.lmcache.order = l.value, l.order
		all = append(all, d)
	}
	if err := roles(all); err != nil {
		return nil, err
	}
	all[0].environment(l.order)
	gpu, err := all[0].accelerator()
	if err != nil {
		return nil, err
	}
	m, err := servedBy(all)
	if err != nil {
		return nil, err
	}
	return write(all, gpu, m)
}

// draftOf reads the flags of a server.
func draftOf(s *server, o Options) (*draft, error) {
	d := &draft{options: o, engine: s.engine, flags: flagsOf(s.engine)}
	if s.note != "" {
		d.notes = append(d.notes, s.note)
	}
	if err := d.released(s.by); err != nil {
		return nil, err
	}
	all, err := d.gather(s.args)
	if err != nil {
		return nil, err
	}
	return d, d.take(all)
}

// reader reads the files that the text itself writes, and then those that are there.
func (l *lexer) reader(otherwise func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := l.files[path]; ok {
			return []byte(text), nil
		}
		return otherwise(path)
	}
}

// environment remarks on variables that engines read.
func (d *draft) environment(names []string) {
	for _, name := range names {
		if name != "VLLM_USE_V1" && regexp.MustCompile(`^(VLLM|SGL|SGLANG|TRTLLM|TLLM)_`).MatchString(name) {
			d.differing = append(d.differing, Remark{name, "variables of the environment are not read, except VLLM_USE_V1"})
		}
	}
}

// accelerator returns the catalog's name of the GPU, which no command line says.
func (d *draft) accelerator() (string, error) {
	if d.options.GPU == "" {
		return "", fmt.Errorf("a command line does not say on which GPU it runs; expected --gpu with one of %s",
			strings.Join(catalog.GPUNames(), ", "))
	}
	written, _ := catalog.CountedGPU(d.options.GPU)
	gpu, unknown := names.PublishedGPU(written)
	switch {
	case unknown == "":
		return gpu, nil
	case strings.HasSuffix(unknown, "?"): // it names the one that was perhaps meant
		return "", fmt.Errorf("--gpu %s: %s", d.options.GPU, unknown)
	}
	return "", fmt.Errorf("--gpu %s: %s; valid names: %s", d.options.GPU, unknown, strings.Join(catalog.GPUNames(), ", "))
}

// served is the model: what scenarios call it, and how it was written.
type served struct {
	name    string // of the catalog, or a path
	written string
	listed  bool // in the catalog
	weights string
	sparse  bool // it has experts
}

// served finds the model among the flags and the words that are none.
func (d *draft) served() (m served, err error) {
	m.written, err = d.written()
	if err != nil {
		return m, err
	}
	if path := d.options.ModelConfig; path != "" {
		return d.ofConfig(m, path)
	}
	if m.written == "" {
		return m, errors.New("the command line names no model; expected one, such as vllm serve " +
			"meta-llama/Llama-3.1-8B-Instruct, or --model-config with the path of its config.json")
	}
	if name := unknownVariable(m.written); name != "" {
		return m, fmt.Errorf("the model is %s, and the variable %s has no value; give it with --var %s=VALUE", m.written,
			name, name)
	}
	name, weights, unknown := names.PublishedModel(repository(m.written))
	if unknown != "" {
		if beside := strings.TrimRight(m.written, "/") + "/config.json"; d.readable(beside) {
			return d.ofConfig(m, beside)
		}
		return m, fmt.Errorf("%s (decodesim list models); or give the path of its config.json with --model-config", unknown)
	}
	spec, err := catalog.Model(name)
	m.name, m.weights = name, weights
	m.listed, m.sparse = true, spec.Experts() > 0
	return m, err
}

// written returns the model as the command line has it; empty: it names none.
func (d *draft) written() (string, error) {
	model := ""
	if d.model != nil {
		model = d.model.value()
	}
	for _, w := range d.positional {
		switch {
		case w == model:
		case strings.HasPrefix(w, "$") && (model != "" || len(d.positional) > 1):
			d.unknown = append(d.unknown, Remark{clip(w), "a variable without a value; give it with --var NAME=VALUE"})
		case model != "":
			return "", fmt.Errorf("%q and %q: two models, or a word that belongs to no flag; expected one model", clip(model),
				clip(w))
		default:
			model = w
		}
	}
	return model, nil
}

func (d *draft) readable(path string) bool {
	_, err := d.options.ReadFile(path)
	return err == nil
}

// ofConfig takes the model of a config.json, the path of which must look like one.
func (d *draft) ofConfig(m served, path string) (served, error) {
	text, err := d.options.ReadFile(path)
	if err != nil {
		return m, fmt.Errorf("--model-config %q cannot be read: %w; expected a HuggingFace config.json", path, err)
	}
	m.name = path
	if !strings.ContainsAny(path, `/\`) {
		m.name = "./" + path
	}
	m.sparse = expertCount.Match(text)
	return m, nil
}

// hub matches the place of a repository in HuggingFace's cache.
var hub = regexp.MustCompile(`models--([^/]+)--([^/]+)`)

// repository returns the name of a checkpoint that may lie in a folder.
func repository(written string) string {
	if m := hub.FindStringSubmatch(written); m != nil {
		return m[1] + "/" + m[2]
	}
	return strings.TrimRight(written, "/")
}

// ours matches how configs says where in the scenario an error is.
var ours = regexp.MustCompile(`^` + scenarioName + `:(\d+):\d+: [^ :]+: `)

const scenarioName = "scenario"

// Check loads the scenario and sizes its replicas. An error that a flag is to blame for names it; wrong reports it. Any
// other one says why the scenario does not run as it stands.
func (i *Import) Check() (wrong bool, err error) {
	s, err := configs.Read(scenarioName, i.Text, configs.Options{})
	if err == nil {
		_, err = build.FirstReplica(s)
	}
	if err == nil {
		return false, nil
	}
	m := ours.FindStringSubmatch(err.Error())
	if m == nil {
		return false, err
	}
	message := strings.TrimPrefix(err.Error(), m[0])
	line, _ := strconv.Atoi(m[1])
	if line < 1 || line > len(i.flags) || i.flags[line-1] == "" {
		return false, errors.New(message)
	}
	return true, fmt.Errorf("%s: %s", i.flags[line-1], message)
}

// remark fills in what became of the flags that are no keys.
func (i *Import) remark(d *draft) {
	i.Idle, i.Differs = grouped(d.idles), grouped(d.differing)
	i.Unknown, i.Notes = grouped(d.unknown), d.notes
}

// take fills in the lines of the scenario.
func (i *Import) take(p *page) {
	i.Text, i.flags = []byte(strings.Join(p.lines, "\n")+"\n"), p.flags
	for _, line := range i.flags {
		for _, f := range strings.Split(together.ReplaceAllString(line, "\n$1"), "\n") {
			if strings.HasPrefix(f, "-") && !strings.HasPrefix(f, "--gpu ") && !slices.Contains(i.Taken, f) {
				i.Taken = append(i.Taken, f)
			}
		}
	}
}

// together finds the later ones of flags that say one key between them, which errors name side by side.
var together = regexp.MustCompile(`(?:, | over )(--?[a-zA-Z])`)
