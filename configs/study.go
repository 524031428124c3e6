package configs

import (
	"strconv"

	"github.com/decodesim/decodesim/configs/slo"
	"go.yaml.in/yaml/v3"
)

// Study asks which deployment serves a load best: what to search, what to keep to, and for which load. LoadStudy
// returns one with every default written in. Its tags mean what those of Scenario do.
type Study struct {
	Name       string      `yaml:"name" doc:"of the results"`
	Scenario   string      `yaml:"scenario,omitempty" doc:"name or path: the model, the workload, the GPU and the engine's other arguments; null: model, trace and search.gpu say it"`
	Model      string      `yaml:"model,omitempty" doc:"in place of a scenario: catalog name, or a path to a HuggingFace config.json"`
	Weights    string      `yaml:"weights,omitempty" oneof:"weights" doc:"of that model; null: as in the checkpoint"`
	KVCache    string      `yaml:"kv_cache,omitempty" oneof:"kv-caches" doc:"of that model; null: as the model computes"`
	Engine     string      `yaml:"engine,omitempty" names:"engines" doc:"that serves it; null: the scenario's, or vllm-v1"`
	Trace      string      `yaml:"trace,omitempty" doc:"its requests: a file of recorded ones, as workload.trace.file; null: set says the workload"`
	Set        []string    `yaml:"set,omitempty" doc:"key=value over the scenario's, as --set has them; null: none"`
	Budget     StudyBudget `yaml:"budget" about:"what a deployment may take; a search for the most needs one of them"`
	Rate       StudyRate   `yaml:"rate" about:"the load: a range to search, or one rate to sustain"`
	SLO        StudySLO    `yaml:"slo" about:"limits that a request must keep"`
	Attainment float64     `yaml:"attainment,omitempty" bound:"[0.01,1]" doc:"share of the requests that must keep every limit; null: 0.9, or what rules say where slo has nothing else"`
	Search     StudySearch `yaml:"search" about:"what is varied"`
	Requests   int64       `yaml:"requests" bound:"[400,10000000]" unit:"requests" doc:"of a whole run, of which the first quarter is not measured; the first rounds take fewer"`
	Seeds      int         `yaml:"seeds" bound:"[1,100]" doc:"runs of each deployment of the last round, from the scenario's seed on"`

	origins origins
}

// StudyBudget is what a deployment may take. A search for the most needs some limit; one for the cheapest may go
// without.
type StudyBudget struct {
	GPUs       int     `yaml:"gpus,omitempty" bound:"[1,4096]" unit:"GPUs" doc:"that a deployment may have; null: what usd_per_hour buys"`
	USDPerHour float64 `yaml:"usd_per_hour,omitempty" bound:"(0,1e9]" unit:"USD/h" doc:"that it may cost, at the catalog's price of the GPU; null: no such limit"`
	PowerW     float64 `yaml:"power_w,omitempty" bound:"(0,1e9]" unit:"W" doc:"watts that its accelerators may draw, by tdp_w; null: no such limit"`
}

// Limited reports whether there is any budget.
func (b *StudyBudget) Limited() bool { return b.GPUs > 0 || b.USDPerHour > 0 || b.PowerW > 0 }

// StudyRate is the load: either the range in which to look for the most that is carried, or one that must be carried.
type StudyRate struct {
	Min float64 `yaml:"min,omitempty" unit:"requests/s" doc:"requests/s, the least of interest; null: at is given"`
	Max float64 `yaml:"max,omitempty" unit:"requests/s" doc:"requests/s, the most of interest; null: at is given"`
	At  float64 `yaml:"at,omitempty" unit:"requests/s" doc:"requests/s to carry as cheaply as possible; null: min and max are given"`
}

// StudySLO is the limits that a request must keep, 0 being no such limit, and the rules of a contract. A list of rules
// may stand in its place.
type StudySLO struct {
	Rules  slo.Lines `yaml:"rules,omitempty" doc:"of a contract, such as ['ttft p95 <= 1s', 'itl p95 <= 50ms'], all of which must hold; null: none"`
	TTFTMS float64   `yaml:"ttft_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the first token; null: no limit"`
	TPOTMS float64   `yaml:"tpot_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds per token after it; null: no limit"`
	E2EMS  float64   `yaml:"e2e_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the last token; null: no limit"`
}

// OfRequests reports whether limits are given that the attainment is the share of.
func (s *StudySLO) OfRequests() bool { return s.TTFTMS > 0 || s.TPOTMS > 0 || s.E2EMS > 0 }

// Empty reports whether nothing is given.
func (s *StudySLO) Empty() bool { return !s.OfRequests() && len(s.Rules) == 0 }

// ShorthandKey implements strict.Shorthand.
func (*StudySLO) ShorthandKey() string { return "rules" }

// StudySearch is what is varied. An absent list leaves what the scenario says.
type StudySearch struct {
	Topology              []string `yaml:"topology" doc:"colocated: every replica reads prompts and decodes; disaggregated: prefill and decode pools"`
	GPU                   []string `yaml:"gpu,omitempty" doc:"catalog names of GPUs, of which a pool has one kind; null: the scenario's"`
	PrefillGPU            []string `yaml:"prefill_gpu,omitempty" doc:"the same of prefill pools, each beside each kind of decode pool; null: that of the decode pool"`
	Parallel              Layouts  `yaml:"parallel,omitempty" doc:"auto: what fits the memory; or what a replica's GPUs share, such as [tp8, tp8-pp2, dp16-ep, tp2-dp4-ep]; null: tensor_parallel"`
	PrefillParallel       Layouts  `yaml:"prefill_parallel,omitempty" doc:"the same of prefill pools, each beside each of decode pools; null: that of the decode pool"`
	TensorParallel        []int    `yaml:"tensor_parallel,omitempty" unit:"GPUs" doc:"GPUs that share every layer; null: the scenario's"`
	PrefillTensorParallel []int    `yaml:"prefill_tensor_parallel,omitempty" unit:"GPUs" doc:"the same of prefill pools; null: that of the decode pool"`
	MaxNumSeqs            []int    `yaml:"max_num_seqs,omitempty" unit:"sequences" doc:"sequences in a batch, of replicas that decode; null: the scenario's"`
	MaxNumBatchedTokens   []int    `yaml:"max_num_batched_tokens,omitempty" unit:"tokens" doc:"tokens in a step, of replicas that read prompts; null: the scenario's"`
	Split                 Splits   `yaml:"split" doc:"all, or prefill and decode replicas, such as [1P3D]: as many of both as the budget takes"`
}

// The topologies.
const (
	Colocated     = "colocated"
	Disaggregated = "disaggregated"
)

// Splits are the splits of GPUs into prefill and decode replicas that a study looks at: the word all alone, or splits.
type Splits []string

// AllSplits stands for every split that the budget allows.
const AllSplits = "all"

// All reports whether every split is looked at.
func (s Splits) All() bool { return len(s) == 1 && s[0] == AllSplits }

// DecodeScalar reads the word all, or a list of splits.
func (s *Splits) DecodeScalar(n *yaml.Node) (err error) {
	*s, err = wordsOf(n, "expected all, or a list such as [1P3D, 2P2D]")
	return err
}

// ParseSplit returns the prefill and decode replicas of a split such as 1P3D; false: it is none.
func ParseSplit(text string) (prefill, decode int, ok bool) {
	m := splitForm.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	prefill, _ = strconv.Atoi(m[1])
	decode, _ = strconv.Atoi(m[2])
	return prefill, decode, prefill > 0 && decode > 0
}

// Errorf returns an error about the value at a path of the study's file.
func (s *Study) Errorf(path, format string, args ...any) error {
	return s.origins.errorf(path, format, args...)
}

// DefaultAttainment is the share of the requests that must keep the limits unless a study says another.
const DefaultAttainment = 0.9

// defaultAttainment sets the share where nobody said it and limits may need it.
func (s *Study) defaultAttainment() {
	if s.Attainment == 0 && !s.origins.given("attainment") && (s.SLO.OfRequests() || s.SLO.Empty()) {
		s.Attainment = DefaultAttainment
	}
}

// defaultStudy returns what every study is made of unless its file says otherwise.
func defaultStudy() *Study {
	return &Study{
		Requests: 20000, Seeds: 5,
		Search: StudySearch{Topology: []string{Colocated}, Split: Splits{AllSplits}},
	}
}
