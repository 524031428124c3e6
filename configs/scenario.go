package configs

// Scenario is a deployment, the load on it and what is asked of it: all that a run is a function of, with the seed. Load
// returns one with every default written in.
//
// The tags serve three ends: yaml names the key in files, in --set and in the environment; omitempty marks keys that may
// stay absent, as null, when the zero value says so; doc is the comment in the resolved file. A key with omitempty and
// no doc is left out of the resolved file when absent: another law's parameter.
type Scenario struct {
	Name        string      `yaml:"name" doc:"of the results"`
	Model       string      `yaml:"model" doc:"catalog name, or a path to a HuggingFace config.json"`
	Weights     string      `yaml:"weights,omitempty" doc:"bf16 fp8 int8 int4 mxfp4 nvfp4; null: as in the checkpoint"`
	Sparsity    string      `yaml:"weight_sparsity,omitempty" doc:"2:4, two of every four weights kept; null: none"`
	KVCache     string      `yaml:"kv_cache,omitempty" doc:"bf16 fp8 int8 int4 mxfp4 nvfp4; null: as the model computes"`
	Pools       []Pool      `yaml:"pools"`
	Router      string      `yaml:"router" doc:"which replica serves a request"`
	Speculation Speculation `yaml:"speculation"`
	Decoding    Decoding    `yaml:"decoding"`
	Noise       *Noise      `yaml:"noise"`
	Workload    Workload    `yaml:"workload"`
	Stream      Stream      `yaml:"stream"`
	SLO         SLO         `yaml:"slo"`
	Seed        uint64      `yaml:"seed" doc:"of every random stream"`
	Output      Output      `yaml:"output"`

	origins origins  // where each value comes from, for errors found later
	notes   []string // what Load left out, see Options.Engine
}

// Pool is a set of equal replicas. What its engine has no argument for stays zero, or at what the engine has fixed.
type Pool struct {
	Name             string `yaml:"name" doc:"as in --set pools.NAME.replicas=3"`
	Role             string `yaml:"role" doc:"serve: prefill and decode alike"`
	GPU              string `yaml:"gpu" doc:"catalog name"`
	Replicas         int    `yaml:"replicas" doc:"instances of the model, each on GPUs of its own"`
	TensorParallel   int    `yaml:"tensor_parallel" doc:"GPUs that share every layer"`
	PipelineParallel int    `yaml:"pipeline_parallel" doc:"stages of layers; priced, not scheduled"`
	DataParallel     int    `yaml:"data_parallel" doc:"ranks of an MoE model in lock step, each with its own batch and cache; priced as if they shared evenly"`
	ExpertParallel   bool   `yaml:"expert_parallel" doc:"whole experts on each GPU instead of slices of all"`
	Engine           string `yaml:"engine" doc:"the defaults of what follows, and how steps are scheduled"`
	EngineArguments  `yaml:",inline"`

	Efficiency     string  `yaml:"efficiency,omitempty" doc:"name of built-in efficiencies or path to a file of them; null: the engine's"`
	ColdStartS     float64 `yaml:"cold_start_s,omitempty" doc:"seconds until a replica is up, beside loading: compiling, warming caches; null: it is up"`
	WeightsLoadBps float64 `yaml:"weights_load_bps,omitempty" doc:"bytes/s from storage into each GPU before a replica is up; null: they are there"`
	KVTransfer     string  `yaml:"kv_transfer,omitempty" doc:"how a prefill pool hands over; null: it does not"`
	FirstToken     string  `yaml:"first_token,omitempty" doc:"which pool emits the first token; null: the only one"`
}

// GPUs returns how many GPUs one replica takes.
func (p *Pool) GPUs() int { return p.TensorParallel * p.PipelineParallel * p.DataParallel }

// Seats returns how many sequences one replica runs at once: all its data-parallel ranks together.
func (p *Pool) Seats() int { return p.MaxNumSeqs * p.DataParallel }

// SLO holds the limits a request must keep to count as goodput. 0: no such limit.
type SLO struct {
	TTFTMS float64 `yaml:"ttft_ms,omitempty" doc:"milliseconds to the first token; null: no limit"`
	TPOTMS float64 `yaml:"tpot_ms,omitempty" doc:"milliseconds per token after it; null: no limit"`
	E2EMS  float64 `yaml:"e2e_ms,omitempty" doc:"milliseconds to the last token; null: no limit"`
	// ITLP99MS is judged on the traced sample alone, for only there a request's own gaps are known.
	ITLP99MS float64 `yaml:"itl_p99_ms,omitempty" doc:"milliseconds, the p99 of a request's own gaps, judged in views; null: no limit"`
}

// Output says what a run leaves behind.
type Output struct {
	RequestsCSV AutoBool `yaml:"requests_csv" doc:"auto: up to 100000 requests; or true, false"`
	Attribution bool     `yaml:"attribution" doc:"what gaps between tokens are made of, by percentile"`
}
