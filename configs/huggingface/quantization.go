package huggingface

import (
	"fmt"
	"io"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/hardware/llm"
)

// scheme is a quantisation as a list of formats, each for the modules it targets, less the ignored ones. Embeddings,
// routers and norms are in no scheme: code keeps them, whatever the lists say.
type scheme struct {
	groups      []target
	ignored     *matcher
	head        bool // the head is stored like the rest unless ignored
	expertsOnly bool
	kvCache     string
}

// target is a format and what it applies to; nil: every linear layer.
type target struct {
	format llm.Format
	only   *matcher
}

// Quantize applies a separate quantisation file (hf_quant_config.json, as NVIDIA's checkpoints have it) to m.
func Quantize(m llm.Model, r io.Reader) (llm.Model, error) {
	data, err := readAll(r)
	if err != nil {
		return llm.Model{}, fmt.Errorf("huggingface: %s: %w", m.Name, err)
	}
	outer, err := newFields("", data)
	if err == nil {
		err = inputs.DuplicateKey(data)
	}
	if err == nil {
		q := outer
		if outer.has("quantization") {
			q = outer.object("quantization")
		}
		err = outer.err
		if err == nil {
			m, err = quantize(m, q)
		}
	}
	if err != nil {
		return llm.Model{}, fmt.Errorf("huggingface: %s: %w", m.Name, err)
	}
	return m, nil
}

func quantize(m llm.Model, q *fields) (llm.Model, error) {
	s := q.scheme()
	if q.err != nil {
		return llm.Model{}, q.err
	}
	m.Precision.KVCache = s.kvCache
	var bits [llm.NumClasses]float64 // Σ bits of quantised weights
	var weights [llm.NumClasses]int64
	var widest [llm.NumClasses]map[string]int64 // weights by dtype
	count := func(class llm.WeightClass, f llm.Format, n int64) {
		bits[class] += float64(f.Bits * float64(n))
		weights[class] += n
		if widest[class] == nil {
			widest[class] = map[string]int64{}
		}
		widest[class][f.Dtype] += n
	}
	s.visit(m, count)
	for c, total := range m.Params() {
		if weights[c] == 0 {
			continue
		}
		rest := total - weights[c]
		m.Precision.Weights[c].Bits = (bits[c] + float64(16*float64(rest))) / float64(total)
		widest[c]["bf16"] += rest
		for _, dtype := range llm.Dtypes() {
			if widest[c][dtype] > widest[c][m.Precision.Weights[c].Dtype] {
				m.Precision.Weights[c].Dtype = dtype
			}
		}
	}
	return m, nil
}

// visit tells every linear layer that the scheme stores narrower.
func (s scheme) visit(m llm.Model, count func(llm.WeightClass, llm.Format, int64)) {
	layer := 0
	for _, r := range m.Layers {
		for range r.Count {
			for _, mod := range modules(m, r, layer) {
				if f, ok := s.format(mod); ok {
					count(mod.class, f, mod.weights)
				}
			}
			layer++
		}
	}
	head := module{llm.Head, int64(m.Vocab) * int64(m.Hidden), []string{"lm_head"}}
	if f, ok := s.format(head); ok && s.head && !m.TiedEmbeddings {
		count(llm.Head, f, head.weights)
	}
}

// format is what a module is stored in; false: as it was.
func (s scheme) format(mod module) (llm.Format, bool) {
	if s.expertsOnly && mod.class != llm.RoutedExperts || s.ignored.any(mod.names) {
		return llm.Format{}, false
	}
	for _, g := range s.groups {
		if g.only != nil && g.only.any(mod.names) {
			return g.format, true
		}
	}
	for _, g := range s.groups {
		if g.only == nil {
			return g.format, true
		}
	}
	return llm.Format{}, false
}

func (m *matcher) any(names []string) bool {
	for _, n := range names {
		if m.matches(n) {
			return true
		}
	}
	return false
}

// scheme reads a quantization_config of any writer.
func (q *fields) scheme() scheme {
	s := scheme{kvCache: q.kvCache()}
	s.ignored = q.ignored()
	method := strings.ToLower(q.text("", "quant_method"))
	if method == "" && q.has("quant_algo") {
		method = "modelopt"
	}
	switch method {
	case "fp8":
		s.groups = []target{{format: llm.Format{Dtype: "fp8", Bits: 8 + q.blockScaleBits()}}}
	case "mxfp8":
		s.groups = []target{{format: llm.Format{Dtype: "mxfp8", Bits: 8.25}}}
	case "fbgemm_fp8":
		s.groups = []target{{format: llm.Format{Dtype: "fp8", Bits: 8}}}
	case "mxfp4":
		s.groups, s.expertsOnly = []target{{format: llm.Format{Dtype: "mxfp4", Bits: 4.25}}}, true
	case "gptq", "awq", "gptq_marlin", "awq_marlin", "auto-round", "intel/auto-round":
		s.groups = []target{{format: q.groupedInt()}}
	case "bitsandbytes":
		s.groups = []target{{format: q.bitsAndBytes()}}
	case "compressed-tensors":
		s.groups, s.head = q.configGroups(), true
	case "modelopt", "modelopt_fp4", "nvfp4":
		s.groups, s.head = q.modelopt(), true
	default:
		q.fail(
			"quant_method", "understood are fp8, mxfp8, fbgemm_fp8, mxfp4, gptq, awq, bitsandbytes, "+
				"compressed-tensors and modelopt")
	}
	return s
}

// ignored joins the lists that writers name differently.
func (q *fields) ignored() *matcher {
	var entries []string
	for _, key := range []string{"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules",
		"llm_int8_skip_modules"} {
		entries = append(entries, q.texts(key)...)
	}
	entries = append(entries, q.overrides()...)
	m, err := newMatcher(entries)
	if err != nil && q.err == nil {
		q.err = fmt.Errorf("%s: %w", strings.TrimSuffix(q.path, "."), err)
	}
	return m
}

// overrides reads what GPTQModel and AutoRound say of single modules (unverified): a pattern after "-:" is kept as it
// was, any other format of its own is refused.
func (q *fields) overrides() []string {
	var unquantized []string
	if d := q.object("dynamic"); d != nil {
		for _, key := range d.keys() {
			pattern, ok := strings.CutPrefix(key, "-:")
			if !ok {
				q.fail("dynamic", "the override of %q is not understood; patterns of kept modules, after \"-:\", are", key)
			}
			unquantized = append(unquantized, "re:"+pattern)
		}
	}
	if e := q.object("extra_config"); e != nil && len(e.raw) > 0 {
		q.fail("extra_config", "formats of single modules are not understood; want none")
	}
	return unquantized
}

// kvCache is the cache's type where the checkpoint sets one.
func (q *fields) kvCache() string {
	if q.has("kv_cache_scheme") {
		if q.isText("kv_cache_scheme") {
			return strings.ToLower(q.text("", "kv_cache_scheme"))
		}
		if f := q.object("kv_cache_scheme"); f != nil {
			format := f.weightFormat()
			if f.err != nil && q.err == nil {
				q.err = f.err
			}
			return format.Dtype
		}
	}
	algo := strings.ToLower(q.text("", "kv_cache_quant_algo"))
	switch algo {
	case "", "none":
		return ""
	case "fp8", "int8", "nvfp4":
		return algo
	}
	q.fail("kv_cache_quant_algo", "understood are FP8, INT8, NVFP4 and none")
	return ""
}
