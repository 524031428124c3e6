package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/slo"
	"github.com/decodesim/decodesim/configs/strict"
	"go.yaml.in/yaml/v3"
)

// Scenario is a deployment, the load on it and what is asked of it: all that a run is a function of, with the seed.
// Load returns one with every default written in.
//
// The tags serve three ends: yaml names the key in files, in --set and in the environment; omitempty marks keys that
// may stay absent, as null, when the zero value says so; doc is the comment in the resolved file. A key with omitempty
// and no doc is left out of the resolved file when absent: another law's parameter.
type Scenario struct {
	Name     string   `yaml:"name" doc:"of the results"`
	Model    ModelRef `yaml:"model" doc:"catalog name, or a path to a HuggingFace config.json"`
	Weights  string   `yaml:"weights,omitempty" oneof:"weights" doc:"bf16 fp8 int8 int4 mxfp4 nvfp4; null: as in the checkpoint"`
	Sparsity string   `yaml:"weight_sparsity,omitempty" oneof:"sparsities" doc:"2:4, two of every four weights kept; null: none"`
	KVCache  string   `yaml:"kv_cache,omitempty" oneof:"kv-caches" doc:"bf16 fp8 int8 int4 mxfp4 nvfp4; null: as the model computes"`
	Pools    []Pool   `yaml:"pools" about:"sets of equal replicas"`
	Split    string   `yaml:"split,omitempty" doc:"prefill and decode replicas, such as 1P3D, in place of the pools' own; null: theirs"`
	Router   string   `yaml:"router" oneof:"routers" doc:"which replica serves a request"`
	Routing  Routing  `yaml:"routing" about:"what routers go by"`

	Disaggregation *Disaggregation  `yaml:"disaggregation" doc:"which requests take which route, where pools are disaggregated; null: all the same, or by load"`
	Admission      *Admission       `yaml:"admission" doc:"who may enter; null: everybody"`
	Autoscale      []Autoscale      `yaml:"autoscale,omitempty" doc:"how many replicas pools have; null: as many all the time"`
	RoleSwitch     *RoleSwitch      `yaml:"role_switch" doc:"replicas that go from prefill to decode and back; null: none"`
	Failures       []Failure        `yaml:"failures,omitempty" doc:"replicas that fail at an instant; null: none"`
	RandomFailures []RandomFailures `yaml:"random_failures,omitempty" doc:"replicas that fail at random; null: none"`
	Drain          []Drain          `yaml:"drain,omitempty" doc:"replicas that end when they have served what they have; null: none"`

	Speculation Speculation `yaml:"speculation" about:"how tokens are drafted and accepted"`
	Decoding    Decoding    `yaml:"decoding" about:"how tokens are chosen, and how many answers a prompt gets"`
	Noise       *Noise      `yaml:"noise" about:"what lengthens steps at random"`
	Workload    Workload    `yaml:"workload" about:"the requests: exactly one of arrivals, closed_loop and trace says when they come"`
	Stream      Stream      `yaml:"stream" about:"what lies between the engine and its clients"`
	Energy      *Energy     `yaml:"energy" doc:"power, carbon and electricity of the run; null: they are not said"`
	SLO         SLO         `yaml:"slo" about:"limits that a request must keep to count as goodput"`
	Seed        uint64      `yaml:"seed" doc:"of every random stream"`
	Alerts      []slo.Alert `yaml:"alerts,omitempty" doc:"rules that fire when they have been broken for a while; null: the rules of the SLO in each window"`
	Output      Output      `yaml:"output" about:"what a run writes"`

	origins origins  // where each value comes from, for errors found later
	notes   []string // what Load left out, see Options.Engine
}

// Pool is a set of equal replicas. What its engine has no argument for stays zero, or at what the engine has fixed.
type Pool struct {
	Name                    string  `yaml:"name" doc:"as in --set pools.NAME.replicas=3"`
	Role                    string  `yaml:"role" oneof:"roles" doc:"serve: prefill and decode alike; prefill: prompts, whose KV cache goes to a pool of role decode; encode: inputs, in front of them"`
	Model                   string  `yaml:"model,omitempty" doc:"of an encode pool: catalog name, or a path to a config.json; null: the scenario's"`
	GPU                     GPURef  `yaml:"gpu" doc:"catalog name, or a path to a file like those of the catalog"`
	Replicas                int     `yaml:"replicas" bound:"[1,1048576]" unit:"replicas" doc:"instances of the model, each on GPUs of its own"`
	ReplicasMax             int     `yaml:"replicas_max,omitempty" bound:"[1,1048576]" unit:"replicas" doc:"as many there may ever be, by autoscale and role_switch; null: replicas"`
	Router                  string  `yaml:"router,omitempty" oneof:"routers" doc:"which replica serves a request; null: the scenario's"`
	TensorParallel          int     `yaml:"tensor_parallel" bound:"[1,1024]" unit:"GPUs" doc:"GPUs that share every layer"`
	PipelineParallel        int     `yaml:"pipeline_parallel" bound:"[1,1024]" doc:"stages of layers, each with a batch of its own under way"`
	DataParallel            int     `yaml:"data_parallel" bound:"[1,1024]" doc:"ranks of an MoE model in lock step, each with its own queue, batch and cache"`
	LoadBalanceMethod       string  `yaml:"load_balance_method,omitempty" oneof:"balancers" doc:"which rank serves a request: as vLLM's client picks it, or as SGLang does by this argument; null: as the engine does"`
	ExpertParallel          bool    `yaml:"expert_parallel" doc:"whole experts on each GPU instead of slices of all"`
	ExpertSkew              float64 `yaml:"expert_skew,omitempty" bound:"[0,10]" doc:"coefficient of variation of the experts' popularity in a layer; null: what the efficiency says, or each is as likely as any other"`
	EnableEPLB              bool    `yaml:"enable_eplb,omitempty" doc:"experts are placed by their load, so that GPUs have equally popular ones; null: they are not"`
	NumRedundantExperts     int     `yaml:"num_redundant_experts,omitempty" bound:"[0,4096]" doc:"experts of a layer that enable_eplb has more than once; null: none"`
	AllToAll                string  `yaml:"all_to_all,omitempty" oneof:"all-to-alls" doc:"how tokens reach the experts of other ranks: low-latency or normal kernels, one-sided ones in a scale-up domain, or all-gather, each as measured; null: as fitted by the efficiencies in one host, as measured between hosts"`
	DisableCustomAllReduce  bool    `yaml:"disable_custom_all_reduce,omitempty" doc:"all-reduces are NCCL's alone, with the latency that was measured of them and the link as fitted by the efficiencies; false: as fitted"`
	BatchOverlap            string  `yaml:"batch_overlap,omitempty" oneof:"batch-overlaps" doc:"what hides that: single-batch, the shared experts and the down projection, or two-batch, the other half of the batch; null: nothing"`
	Engine                  string  `yaml:"engine" names:"engines" doc:"the defaults of what follows, and how steps are scheduled"`
	catalog.EngineArguments `yaml:",inline"`

	NetworkReserved float64  `yaml:"network_reserved,omitempty" bound:"(0,0.99]" doc:"share of each network adapter, both ways, that collectives between hosts keep from KV transfers and tiers; null: none"`
	KVTiers         *KVTiers `yaml:"kv_tiers,omitempty" doc:"stores of cached prefixes below host memory; null: none"`

	Efficiency     EfficiencyRef `yaml:"efficiency,omitempty" doc:"name of built-in efficiencies or path to a file of them; null: the engine's"`
	ColdStartS     float64       `yaml:"cold_start_s,omitempty" bound:"(0,1e6]" doc:"seconds until a replica that is started is up, beside loading: compiling, warming caches; null: at once"`
	StartsCold     bool          `yaml:"starts_cold,omitempty" doc:"the replicas of the beginning start cold too, and requests wait; null: they are up when the run begins"`
	WeightsLoadBps float64       `yaml:"weights_load_bps,omitempty" bound:"(0,1e15]" doc:"bytes/s from storage into each GPU before a replica that is started is up; null: at once"`

	StragglerReplicas int     `yaml:"straggler_replicas,omitempty" unit:"replicas" doc:"replicas, the first ones, that run slower than the others; null: none"`
	StragglerSlowdown float64 `yaml:"straggler_slowdown,omitempty" bound:"[1,100]" unit:"times" doc:"times as long a step of theirs lasts; null: none does"`

	ReservedReplicas     int     `yaml:"reserved_replicas,omitempty" bound:"[1,1048576]" unit:"replicas" doc:"replicas paid at reserved_price_per_hour, up or not; null: none"`
	ReservedPricePerHour float64 `yaml:"reserved_price_per_hour,omitempty" bound:"(0,1e9]" unit:"USD/h" doc:"of one device of theirs; null: none is reserved"`
	SpotReplicas         int     `yaml:"spot_replicas,omitempty" bound:"[1,1048576]" unit:"replicas" doc:"replicas, the last ones, paid at spot_price_per_hour while they are up; null: none"`
	SpotPricePerHour     float64 `yaml:"spot_price_per_hour,omitempty" bound:"(0,1e9]" unit:"USD/h" doc:"of one device of theirs; null: none is spot"`

	// What follows is of pools that transfer KV to others.
	KVTransfer       string  `yaml:"kv_transfer,omitempty" oneof:"transfers" doc:"pull: reserved and sent when the prompt is read; push: reserved before, and sent layer by layer"`
	FirstToken       string  `yaml:"first_token,omitempty" oneof:"first-tokens" doc:"which pool emits the first token: prefill, or decode when it has the cache"`
	KVLink           string  `yaml:"kv_link,omitempty" oneof:"links" doc:"of each GPU to the next pool: nvlink pcie nic (those of the catalog) nic-100g nic-200g nic-400g nic-800g; null: kv_link_bps"`
	KVLinkBps        float64 `yaml:"kv_link_bps,omitempty" bound:"(0,1e15]" doc:"bytes/s of a GPU each way, in place of kv_link; null: kv_link's"`
	KVLinkLatencyS   float64 `yaml:"kv_link_latency_s" bound:"[0,3600]" doc:"seconds before the first byte of a transfer; of a network by default what was measured"`
	KVLinkEfficiency float64 `yaml:"kv_link_efficiency" bound:"(0,1]" doc:"share of the link's bandwidth that transfers achieve; of a network by default what was measured, of another link all"`
}

// GPUs returns how many GPUs one replica takes.
func (p *Pool) GPUs() int { return p.TensorParallel * p.PipelineParallel * p.DataParallel }

// SequencesMax returns how many sequences one replica runs at once: all its data-parallel ranks together.
func (p *Pool) SequencesMax() int { return p.MaxNumSeqs * p.DataParallel }

// SLO is the limits a request must keep to count as goodput, 0 being no such limit, and the rules of a contract. A list
// of rules may stand in its place.
type SLO struct {
	Rules  slo.Lines `yaml:"rules,omitempty" doc:"of a contract, such as ['ttft p95 <= 1s', '90% of requests: ttft <= 500ms and tpot <= 40ms']; docs/slo.md says what each is about, chunks and cliffs too; null: none"`
	TTFTMS float64   `yaml:"ttft_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the first token; null: no limit"`
	TPOTMS float64   `yaml:"tpot_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds per token after it; null: no limit"`
	E2EMS  float64   `yaml:"e2e_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds to the last token; null: no limit"`
	// ITLP99MS is judged on the traced sample alone, for only there a request's own gaps are known.
	ITLP99MS   float64 `yaml:"itl_p99_ms,omitempty" bound:"(0,1e9]" doc:"milliseconds, the p99 of a request's own gaps, judged in views; null: no limit"`
	Attainment float64 `yaml:"attainment,omitempty" bound:"[0.01,1]" doc:"share of the requests that must keep the limits for the SLO to be met, in a window and at another load; null: 0.9"`
	WindowS    float64 `yaml:"window_s,omitempty" bound:"[0.001,horizon]" doc:"width of the windows of time in which the SLO is judged and latencies are reported; null: about 60 of them with 100 requests each"`
}

// ShorthandKey implements strict.Shorthand.
func (*SLO) ShorthandKey() string { return "rules" }

// Hint suggests a key, or the rule that a latency without a key of its own can have; ttfo_ms is no slip for ttft_ms.
func (*SLO) Hint(name string, _ *yaml.Node) string {
	latency, _, _ := strings.Cut(name, "_")
	if slices.Contains([]string{"ttfo", "itl", "queue", "task"}, latency) {
		return fmt.Sprintf("expected a rule, such as rules: ['%s p95 <= 5s']", latency)
	}
	return strict.KeyHint(reflect.TypeFor[SLO](), name)
}

// Output says what a run leaves behind.
type Output struct {
	RequestsCSV AutoBool `yaml:"requests_csv" doc:"auto: up to 100000 requests; or true, false"`
	Attribution bool     `yaml:"attribution" doc:"what gaps between tokens are made of, by percentile"`
	Intervals   bool     `yaml:"intervals" doc:"where the warm-up ended, 95 % intervals, and whether the answer depends on the length of the run"`
	OverTime    bool     `yaml:"over_time" doc:"latencies by window of time, whether the SLO was met then, and alerts"`
}

// AutoBool is a switch that may decide for itself. The zero value is none of the three; Load never returns it.
type AutoBool string

// The settings of an AutoBool.
const (
	Auto AutoBool = "auto"
	On   AutoBool = "true"
	Off  AutoBool = "false"
)

// DecodeScalar reads auto, true or false.
func (b *AutoBool) DecodeScalar(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false"):
	case n.Kind == yaml.ScalarNode && n.Value == string(Auto):
	default:
		return fmt.Errorf("expected auto, true or false, got %s", strict.Describe(n))
	}
	*b = AutoBool(n.Value)
	return nil
}
