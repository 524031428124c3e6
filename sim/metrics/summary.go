package metrics

import "encoding/json"

// SchemaSummary names the format of summary.json. Fields are added, never renamed.
const SchemaSummary = "decodesim/summary/v1"

// Summary is the result of a run, in SI units; latencies are in seconds.
type Summary struct {
	Schema     string        `json:"schema"`
	Scenario   string        `json:"scenario"`
	Seed       uint64        `json:"seed"`
	Version    string        `json:"version"`
	Requests   Requests      `json:"requests"`
	Tokens     Tokens        `json:"tokens"`
	DurationS  float64       `json:"duration_s"` // first send to last token
	Latency    Latency       `json:"latency"`
	Interval   int32         `json:"stream_interval,omitempty"` // tokens of a chunk; absent: those of a step
	Stream     *Streamed     `json:"stream,omitempty"`          // what clients see; absent where latency has it
	ByPosition []Octave      `json:"itl_by_position,omitempty"`
	Throughput Throughput    `json:"throughput"`
	SLO        *SLO          `json:"slo,omitempty"`       // absent without an SLO
	Rules      []Verdict     `json:"slo_rules,omitempty"` // absent without rules
	OverTime   *OverTime     `json:"over_time,omitempty"` // absent unless it was recorded by windows of time
	Headroom   *Headroom     `json:"headroom,omitempty"`  // absent unless it was sought and requests measured
	Bound      Bound         `json:"bound"`
	Tail       *Tail         `json:"itl_tail,omitempty"`  // absent without gaps
	Gaps       []Gap         `json:"itl_parts,omitempty"` // what gaps are made of; absent without an attribution
	Pools      []PoolResult  `json:"pools"`
	Transfers  *Transfers    `json:"transfers,omitempty"` // absent without KV transfers
	Cost       *Cost         `json:"cost,omitempty"`      // absent if a GPU of the scenario has no price
	Energy     *Energy       `json:"energy,omitempty"`    // absent unless asked for, and where a power is unknown
	Load       Load          `json:"load"`
	Tasks      *TaskResult   `json:"tasks,omitempty"`        // absent without agents
	Steady     *Steady       `json:"stationarity,omitempty"` // absent where output.intervals is false
	Classes    []ClassResult `json:"classes,omitempty"`      // absent without service classes
	Warnings   []string      `json:"warnings"`

	Expected []ExpectedError `json:"expected_error,omitempty"` // absent where its engine was never measured
	OfPeak   []OfPeak        `json:"of_peak,omitempty"`        // absent where nothing decoded
}

// ExpectedError is how far a prediction is to be expected off, from errors on measured runs that were left out of the
// fit: of the same model, GPU and engine, or of what comes nearest to them.
type ExpectedError struct {
	Model       string      `json:"model"`
	GPU         string      `json:"gpu"`
	OwnGPU      bool        `json:"own_gpu,omitempty"` // it is in no data: the errors are of other GPUs
	Engine      string      `json:"engine"`
	LeftOut     string      `json:"left_out"`            // deployment: it was measured; pair, gpu, model …: that was not
	Measured    string      `json:"errors_of,omitempty"` // the engine that the errors are of; absent: all of them
	Without     string      `json:"without,omitempty"`   // what the scenario has and no run did: speculation, KV tiers …
	Runs        int         `json:"runs"`
	Deployments int         `json:"deployments"`
	TPOT        ErrorSpread `json:"tpot"`
	TTFT        ErrorSpread `json:"ttft"`
}

// ErrorSpread is the median and the 90th percentile of absolute errors, in percent.
type ErrorSpread struct {
	MedianPct float64 `json:"median_abs_error_pct"`
	P90Pct    float64 `json:"p90_abs_error_pct"`
}

// Requests counts the requests of a run: completed, rejected, failed and unfinished sum to arrived.
type Requests struct {
	Arrived     int64 `json:"arrived"`
	Completed   int64 `json:"completed"`
	Rejected    int64 `json:"rejected"`
	Failed      int64 `json:"failed"`
	Unfinished  int64 `json:"unfinished"`
	Preemptions int64 `json:"preemptions"`
	NotAdmitted int64 `json:"refused,omitempty"`   // rejected requests that were not admitted
	Restarted   int64 `json:"restarted,omitempty"` // times that a request began again after its replica failed
}

// Tokens counts the prompt tokens of the requests that arrived, the prompt tokens that a prefix cache had when the
// request was first admitted (prompt_cached), and the tokens emitted (output), warm-up included.
type Tokens struct {
	Prompt       int64 `json:"prompt"`
	PromptCached int64 `json:"prompt_cached"`
	Output       int64 `json:"output"`
}

// Octave is the inter-token latency of the traced requests over the output positions From ≤ position < To.
type Octave struct {
	From     int32   `json:"from"`
	To       int32   `json:"to"`
	Requests int64   `json:"requests"` // traced requests that reached it
	N        int64   `json:"n"`        // gaps
	Mean     float64 `json:"mean"`
	P50      float64 `json:"p50"`
	P90      float64 `json:"p90"`
	P95      float64 `json:"p95"`
	P99      float64 `json:"p99"`
}

// Throughput is what left the system per second of the run, after the warm-up.
type Throughput struct {
	RequestsPerS           float64 `json:"requests_per_s"`
	OutputTokensPerS       float64 `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU float64 `json:"output_tokens_per_s_per_gpu"`
}

// SLO is the share of the ended requests that met every limit, and their rate. Rejected and failed requests missed the
// limits.
type SLO struct {
	TTFTS       float64 `json:"ttft_s,omitempty"` // the limits; 0: none
	TPOTS       float64 `json:"tpot_s,omitempty"`
	E2ES        float64 `json:"e2e_s,omitempty"`
	QueueS      float64 `json:"queue_s,omitempty"`
	TTFOS       float64 `json:"ttfo_s,omitempty"`
	Attainment  float64 `json:"attainment"` // NaN where Unmeasured is set, and so is GoodputPerS
	GoodputPerS float64 `json:"goodput_per_s"`
	Unmeasured  string  `json:"unmeasured,omitempty"` // why there are no requests to judge by; empty: there are some
}

// MarshalJSON implements json.Marshaler.
func (o SLO) MarshalJSON() ([]byte, error) { return json.Marshal(o.Written()) }

// WrittenSLO is the JSON of an SLO.
type WrittenSLO struct {
	TTFTS       float64  `json:"ttft_s,omitempty"`
	TPOTS       float64  `json:"tpot_s,omitempty"`
	E2ES        float64  `json:"e2e_s,omitempty"`
	QueueS      float64  `json:"queue_s,omitempty"`
	TTFOS       float64  `json:"ttfo_s,omitempty"`
	Attainment  *float64 `json:"attainment"`
	GoodputPerS *float64 `json:"goodput_per_s"`
	Unmeasured  string   `json:"unmeasured,omitempty"`
}

// Written returns what stands in JSON: null for what was not measured.
func (o SLO) Written() WrittenSLO {
	return WrittenSLO{o.TTFTS, o.TPOTS, o.E2ES, o.QueueS, o.TTFOS, orNull(o.Attainment), orNull(o.GoodputPerS),
		o.Unmeasured}
}

// Measured reports whether there are requests that shares can be of.
func (s *Summary) Measured() bool { return measured(&s.Requests, &s.Latency) }

// Measured reports whether there are requests of the class that shares can be of.
func (c *ClassResult) Measured() bool { return measured(&c.Requests, &c.Latency) }

// measured: some were completed after the warm-up, or missed their limits by not being completed.
func measured(r *Requests, l *Latency) bool { return l.E2E.N+r.Rejected+r.Failed > 0 }

// Headroom is how much load a deployment sustains within its SLO, by short runs of the same workload at scaled rates.
type Headroom struct {
	Factor   float64 `json:"factor"`             // of the load of the scenario; 0: less than a tenth
	AtLeast  bool    `json:"at_least,omitempty"` // more than that was not tried
	RatePerS float64 `json:"rate_per_s"`
	Unit     string  `json:"unit"`
	Breaks   string  `json:"breaks,omitempty"` // what breaks 5 % above it
	Requests int64   `json:"requests"`         // of a short run, where it is not as long as the shape of its load
}

// ClassResult is what the users of one service class felt, by the definitions of the whole run.
type ClassResult struct {
	Name     string    `json:"name"`
	Requests Requests  `json:"requests"`
	Tokens   Tokens    `json:"tokens"`
	Latency  Latency   `json:"latency"`
	SLO      *SLO      `json:"slo,omitempty"` // of the class, or else of the scenario; absent without either
	Rules    []Verdict `json:"slo_rules,omitempty"`

	Tasks *TaskResult `json:"tasks,omitempty"` // absent without agents

	OverTime *OverTime `json:"over_time,omitempty"` // in the windows of the whole run; absent where it has none
}

// Bound compares the steps with the least time the data sheet allows, both weighted by tokens.
type Bound struct {
	ITLFloorS       float64 `json:"itl_floor_s"`
	StepS           float64 `json:"step_s"`
	FractionOfBound float64 `json:"fraction_of_bound"` // floor / step, ≤ 1
	Limit           string  `json:"limit"`             // memory or compute: what binds the bound in most tokens' steps
	Share           Share   `json:"share"`
	PausedS         float64 `json:"held_s"` // mean time per token, beside the step, in prefill-only steps
}

// Share is what the mean step a token waits for is made of; the fields sum to 1.
type Share struct {
	Weights       float64 `json:"weights"`
	KV            float64 `json:"kv"`
	Compute       float64 `json:"compute"`
	Communication float64 `json:"communication"`
	Overhead      float64 `json:"overhead"`
}

// PoolResult is the load of one pool, with the busy share of replica time.
type PoolResult struct {
	Name           string       `json:"name"`
	Role           string       `json:"role,omitempty"`
	GPU            string       `json:"gpu"`
	GPUs           int          `json:"gpus"`
	Replicas       int          `json:"replicas"`                // that take requests at the end of the run
	ReplicasMean   float64      `json:"replicas_mean,omitempty"` // over the run; absent if the number is constant
	GPUsMean       float64      `json:"gpus_mean,omitempty"`     // over the run; absent if the number is constant
	Utilization    float64      `json:"utilization"`
	BatchMean      float64      `json:"batch_mean"` // decoding sequences, mean over steps
	KVPeakFraction float64      `json:"kv_peak_fraction"`
	KVBlocks       int64        `json:"kv_blocks"`             // of one replica
	Speculation    *Speculation `json:"speculation,omitempty"` // absent where nothing was drafted
	FinishedRows   float64      `json:"idle_rows,omitempty"`   // share of finished rows in the decode rows computed
	Preemptions    int64        `json:"preemptions,omitempty"`
	Swaps          int64        `json:"swaps,omitempty"`    // preemptions to host memory
	Received       int64        `json:"received,omitempty"` // requests whose KV was transferred to it

	// PrefixHitRate is the cached share of the prompt tokens of admitted requests, as vLLM counts it; absent without
	// prefix caching.
	PrefixHitRate *float64 `json:"prefix_hit_rate,omitempty"`
	HostHitRate   float64  `json:"host_hit_rate,omitempty"` // the part of it that host memory had

	// KVTiers is where cached prompt tokens were, from the GPUs on: what is beyond host memory was fetched before the
	// request joined the queue. Absent without tiers below host memory.
	KVTiers []TierHits `json:"kv_tiers,omitempty"`
	// RecomputedShare is the share of prompt tokens that a tier had and it would have taken longer to fetch.
	RecomputedShare float64 `json:"recomputed_share,omitempty"`

	Ranks *Ranks `json:"ranks,omitempty"` // of each replica; absent where it has one

	Adapters *Adapters `json:"adapters,omitempty"` // absent where no request has one
}

// Adapters is what became of LoRA adapters. A request waits for them while it is queued, its adapter is not among those
// of the batch, and every slot has one of that.
type Adapters struct {
	N           int     `json:"n"`
	Slots       int     `json:"slots"`           // of a replica
	Requests    int64   `json:"requests"`        // admitted that have one
	HitRate     float64 `json:"hit_rate"`        // share of them whose adapter had a slot when they were admitted
	Copies      int64   `json:"copies"`          // of adapters from host memory to slots
	Reads       int64   `json:"reads,omitempty"` // of them, those that came from storage before
	CopyShare   float64 `json:"copy_share"`      // of the time of steps: waiting for adapters to come
	WaitedShare float64 `json:"waited_share"`    // of the requests: those that waited for a slot
	WaitMeanS   float64 `json:"wait_mean_s"`     // that they did, over all requests
}

// TierHits is what came from a tier of the KV cache: gpu, host or one below.
type TierHits struct {
	Tier          string  `json:"tier"`
	HitRate       float64 `json:"hit_rate"`                 // share of prompt tokens; the tiers sum to prefix_hit_rate
	FetchedTokens int64   `json:"fetched_tokens,omitempty"` // to host memory, found there at admission or not
	WrittenTokens int64   `json:"written_tokens,omitempty"` // to it, where writing takes time
}

// Ranks is how evenly the data-parallel ranks of replicas were busy, which wait for each other in every step.
type Ranks struct {
	N             int     `json:"n"`
	BusiestTokens float64 `json:"busiest_tokens"` // of a step, on the rank that computed most, as a multiple of the mean of all
	EmptyShare    float64 `json:"empty_share"`    // of ranks in steps: those that had nothing to compute
	BatchMax      float64 `json:"batch_max_mean"` // decoding sequences of the rank that had most, mean over steps
}

// Speculation counts drafts. AcceptLength is the tokens that a sequence emits per step, the model's own token included,
// as vLLM counts it.
type Speculation struct {
	Drafted      int64   `json:"drafted"`
	Accepted     int64   `json:"accepted"`
	AcceptLength float64 `json:"accept_length"`
}

// Cost is the rent of the GPUs, per hour and per token.
type Cost struct {
	USDPerHour                float64 `json:"usd_per_hour"`
	USDPerMillionOutputTokens float64 `json:"usd_per_million_output_tokens"` // all of the rent over them
	IdleUSDPerHour            float64 `json:"idle_usd_per_hour"`             // of the time in which no step runs
	PeakUSDPerHour            float64 `json:"peak_usd_per_hour,omitempty"`   // of what only the busiest window needs
	ReservedUSDPerHour        float64 `json:"reserved_usd_per_hour,omitempty"`
	SpotUSDPerHour            float64 `json:"spot_usd_per_hour,omitempty"`
	Split                     *Split  `json:"split,omitempty"` // absent where steps do not tell it
}

// Load compares what was offered with what was served, while requests arrived.
type Load struct {
	OfferedPerS float64 `json:"offered_per_s"`
	ServedPerS  float64 `json:"served_per_s"`
}

// Transfers counts the KV transfers between pools, warm-up included, and describes how long they took after the
// warm-up. From the end of its prefill a request waits until the next pool has room (wait); then its KV cache is
// transferred (time).
type Transfers struct {
	N      int64     `json:"n"`
	Tokens int64     `json:"tokens"` // whose KV was transferred
	Wait   Quantiles `json:"wait_s"`
	Time   Quantiles `json:"time_s"`
}
