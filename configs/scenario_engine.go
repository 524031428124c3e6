package configs

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
	"github.com/decodesim/decodesim/workloads"
)

// Decoding is how tokens are chosen, as far as it costs time, and how many answers a prompt gets. Of the workload
// requests then counts prompts; of the results it counts answers.
type Decoding struct {
	Sampling          string  `yaml:"sampling" oneof:"samplings" doc:"greedy top-k top-p top-p-sorted: what choosing a token costs, by the vocabulary; vLLM before 0.17 sorts"`
	StructuredOutputS float64 `yaml:"structured_output_s,omitempty" bound:"[0,3600]" about:"time of the host per step to constrain the output"`
	N                 int64   `yaml:"n,omitempty" bound:"[1,choices]" unit:"answers" about:"answers to each prompt, each of a length of its own; null: 1"`
	BeamWidth         int64   `yaml:"beam_width,omitempty" bound:"[1,choices]" about:"paths of a beam search, of equal length; null: none"`
}

// Choices returns how many answers a prompt gets.
func (d *Decoding) Choices() workloads.Choices {
	if d.BeamWidth > 0 {
		return workloads.Choices{N: d.BeamWidth, Beam: true}
	}
	return workloads.Choices{N: max(1, d.N)}
}

// checkDecoding reports what no engine chooses by, and answers that no workload could ask for.
func (s *Scenario) checkDecoding(c *checker) {
	d := &s.Decoding
	if d.N > 0 && d.BeamWidth > 0 {
		c.fail("decoding.beam_width", "%d stands beside n, %d; expected only one of them", d.BeamWidth, d.N)
	}
	if k := d.Choices(); k.N > 1 {
		s.checkChoices(c, k)
	}
}

// checkChoices refuses answers that nobody could continue, number or compute together.
func (s *Scenario) checkChoices(c *checker, k workloads.Choices) {
	path := "decoding.n"
	if k.Beam {
		path = "decoding.beam_width"
	}
	const requestsMax = 1<<31 - 1
	switch w := &s.Workload; {
	case w.Tasks():
		c.fail(path, "%d, but an agent goes on from one answer; expected 1, or a workload without tasks", k.N)
	case w.Sessions != nil:
		c.fail(path, "%d, but a session goes on from one answer; expected 1, or a workload without sessions", k.N)
	case w.Requests > requestsMax/k.N:
		c.fail("workload.requests", "%d prompts of %d answers each; expected at most %d prompts", w.Requests, k.N,
			requestsMax/k.N)
	}
	if !k.Beam || len(s.Pools) == 0 {
		return
	}
	if s.Speculation.On() {
		c.fail(
			path, "%d stands beside speculation, with which paths of a beam would not be of equal length; expected only one "+
				"of them", k.N)
	}
	for i := range s.Pools {
		if most := s.Pools[i].SequencesMax(); most > 0 && s.Pools[i].Decodes() && k.N > int64(most) {
			c.fail(path, "%d paths, but a replica runs %d sequences at once; expected at most that", k.N, most)
		}
	}
}

// Noise lengthens steps at random, see fleet.Noise. An absent section is none.
type Noise struct {
	Jitter            float64 `yaml:"jitter" bound:"[0,10]" doc:"mean of what a step lasts longer, an exponential share of it; 0: none"`
	NeighbourShare    float64 `yaml:"neighbour_share" bound:"[0,1]" doc:"of the periods in which a neighbour slows a replica down; 0: none"`
	NeighbourSlowdown float64 `yaml:"neighbour_slowdown" bound:"[1,100]" unit:"times" doc:"times as long a step lasts then"`
	NeighbourPeriodS  float64 `yaml:"neighbour_period_s" bound:"(1e-12,horizon]" doc:"seconds that a neighbour comes or stays away for"`
}

// defaultNoise is none: a neighbour must be given with its share.
func defaultNoise() *Noise { return &Noise{NeighbourSlowdown: 1, NeighbourPeriodS: 1} }

// check refuses noise that shortens steps, and a neighbour of which only half is said.
func (n *Noise) check(c *checker) {
	if n == nil {
		return
	}
	const share, slowdown, period = "noise.neighbour_share", "noise.neighbour_slowdown", "noise.neighbour_period_s"
	for _, of := range []struct{ key, example string }{{slowdown, "1.5"}, {period, "10"}} {
		switch given := c.origins.given(of.key); {
		case n.NeighbourShare > 0 && !given:
			c.fail(of.key, "missing beside neighbour_share %g; expected a number such as %s", n.NeighbourShare, of.example)
		case given && !c.origins.given(share):
			c.fail(of.key, "has no effect without neighbour_share; expected a share such as 0.1 beside it")
		}
	}
}

// Stream is what lies between the steps of an engine and a client, and what that client bears. What is constant of it
// is in the run; the rest changes what clients see of it: see views.Stream.
type Stream struct {
	StreamInterval   int64   `yaml:"stream_interval" bound:"[1,1048576]" unit:"tokens" doc:"tokens in a chunk, but for the first, which comes at once; vLLM's argument"`
	DetokenizeS      float64 `yaml:"detokenize_s" bound:"[0,60]" doc:"seconds of the API server for each token"`
	FrameS           float64 `yaml:"frame_s" bound:"[0,60]" doc:"seconds of the API server for each chunk"`
	RTTMS            float64 `yaml:"rtt_ms" bound:"[0,1e6]" doc:"milliseconds of the network, there and back"`
	RTTJitterMS      float64 `yaml:"rtt_jitter_ms" bound:"[0,1e5]" doc:"milliseconds beyond that, the mean of an exponential law for each chunk"`
	StallMS          float64 `yaml:"stall_ms" bound:"(0,1e9]" doc:"milliseconds; a longer gap between chunks is a stall"`
	ReaderTokensPerS float64 `yaml:"reader_tokens_per_s" bound:"(0,1e6]" unit:"tokens/s" doc:"pace of a reader"`
}

// defaultStream is no network, a chunk for every step, and a reader of 5 tokens/s, who notices a fifth of a second. The
// last two are choices, not measurements.
func defaultStream() Stream {
	return Stream{StreamInterval: 1, StallMS: 200, ReaderTokensPerS: 5}
}

// View returns the stream in the terms of views.
func (s *Stream) View() views.Stream {
	return views.Stream{
		Interval: int32(s.StreamInterval), Detokenize: sim.Seconds(s.DetokenizeS), Frame: sim.Seconds(s.FrameS),
		RTT: sim.Seconds(s.RTTMS / 1e3), Jitter: sim.Seconds(s.RTTJitterMS / 1e3),
	}
}

// KVTiers is the stores of cached prefixes below host memory: SGLang's hierarchical cache (HiCache) with a storage
// backend, or LMCache with a local disk and a remote one. Host memory itself is kv_offloading_size.
type KVTiers struct {
	WritePolicy string       `yaml:"write_policy" oneof:"kv-write-policies" doc:"write_through: whatever leaves a batch is written to all; write_back: to each goes what the one above has no room for"`
	LoadPolicy  string       `yaml:"load_policy" oneof:"kv-load-policies" doc:"fetch: all that they have; fetch_or_recompute: what is there sooner than it is computed"`
	NVMe        *NVMeTier    `yaml:"nvme,omitempty" doc:"drives of each replica; null: none"`
	Cluster     *ClusterTier `yaml:"cluster,omitempty" doc:"one store for all replicas of the pool, such as Mooncake's; null: none"`
}

// NVMeTier is the drives of a replica.
type NVMeTier struct {
	SizeGiB  float64 `yaml:"size_gib" required:"size_gib and read_bps" bound:"(0,1e9]" unit:"GiB" doc:"GiB of each replica"`
	ReadBps  float64 `yaml:"read_bps" required:"size_gib and read_bps" bound:"(0,1e15]" doc:"bytes/s that they read, all drives of a replica together"`
	WriteBps float64 `yaml:"write_bps,omitempty" bound:"(0,1e15]" doc:"bytes/s that they write, all drives of a replica together; null: writing takes no time"`
	LatencyS float64 `yaml:"latency_s,omitempty" bound:"[0,3600]" doc:"seconds before the first byte; null: 0"`
}

// ClusterTier is a store that the replicas of a pool share.
type ClusterTier struct {
	SizeGiB        float64 `yaml:"size_gib" required:"size_gib and read_bps" bound:"(0,1e9]" unit:"GiB" doc:"GiB of the store, for all replicas"`
	ReadBps        float64 `yaml:"read_bps" required:"size_gib and read_bps" bound:"(0,1e15]" doc:"bytes/s that it sends, to all replicas together"`
	WriteBps       float64 `yaml:"write_bps,omitempty" bound:"(0,1e15]" doc:"bytes/s that it takes, from all replicas together, over link; null: writing takes no time and no network"`
	LatencyS       float64 `yaml:"latency_s" bound:"[0,3600]" doc:"seconds before the first byte; by default what was measured of KV transfers"`
	Link           string  `yaml:"link" oneof:"links" doc:"of each GPU to it, shared with KV transfers: nic (that of the catalog) nic-100g nic-200g nic-400g nic-800g"`
	LinkEfficiency float64 `yaml:"link_efficiency" bound:"(0,1]" doc:"share of the link's bandwidth that is achieved; by default what was measured of KV transfers"`
}

// How tiers are written, and what is fetched from them.
const (
	writeThrough     = "write_through"
	WriteBack        = "write_back"
	loadFetch        = "fetch"
	FetchOrRecompute = "fetch_or_recompute"
)

// defaultTiers is what the sections of tiers say unless a layer says otherwise.
func defaultTiers() *KVTiers {
	cluster := &ClusterTier{Link: "nic"}
	cluster.LinkEfficiency, cluster.LatencyS = hardware.TransferAchieves(cluster.Link)
	return &KVTiers{WritePolicy: writeThrough, LoadPolicy: loadFetch, NVMe: &NVMeTier{}, Cluster: cluster}
}

// checkTiers refuses tiers below nothing, and where no prompt is read.
func (p *Pool) checkTiers(c *checker, path string) {
	t, at := p.KVTiers, path+".kv_tiers"
	if p.NetworkReserved > 0 && p.Role == RoleServe && (t == nil || t.Cluster == nil) {
		c.fail(path+".network_reserved", "keeps the network from nothing: this pool has neither KV transfers nor "+
			"kv_tiers.cluster; accepted: null")
	}
	switch {
	case t == nil:
	case !p.Prefills():
		c.fail(at, "has no effect on a pool of role %s, which reads no prompts; accepted: null, or role %s or %s", p.Role,
			RoleServe, RolePrefill)
	case t.NVMe == nil && t.Cluster == nil:
		c.fail(at, "names no store; expected nvme: {size_gib, read_bps}, cluster: {size_gib, read_bps} or both")
	case t.Cluster != nil && !strings.HasPrefix(t.Cluster.Link, "nic"):
		c.fail(at+".cluster.link", "%q leads to no store; expected a network, such as nic or nic-400g", t.Cluster.Link)
	case p.KVOffloadingSize == 0:
		c.fail(at, "is below host memory, of which there is none; expected %s above 0 beside it",
			c.origins.name(path+".kv_offloading_size"))
	}
}

// The defaults of vLLM's arguments for LoRA (0.33.0, vllm/config/lora.py:32).
const (
	maxLoRAs    = 1
	maxLoRARank = 16
)

// fillLoRA writes what vLLM takes of the arguments for LoRA adapters that nobody gives.
func (p *Pool) fillLoRA(given func(key string) bool) {
	if !given("max_loras") {
		p.MaxLoRAs = maxLoRAs
	}
	if !given("max_lora_rank") {
		p.MaxLoRARank = maxLoRARank
	}
	if !given("max_cpu_loras") {
		p.MaxCPULoRAs = p.MaxLoRAs
	}
	if !given("lora_dtype") {
		p.LoRADtype = catalog.LoRAAuto
	}
	if !given("lora_target_modules") {
		p.LoRATargetModules = llm.AdapterModules()
	}
}

// checkLoRA refuses arguments for LoRA adapters that vLLM refuses, and pools that no adapters are modelled for.
func (p *Pool) checkLoRA(c *checker, path string) {
	if !p.EnableLoRA {
		for _, key := range []string{"max_loras", "max_lora_rank", "max_cpu_loras", "lora_dtype", "lora_target_modules",
			"lora_load_bps"} {
			if at := path + "." + key; c.origins.given(at) {
				c.fail(at, "has no effect without enable_lora; accepted: null, or enable_lora: true")
			}
		}
		return
	}
	if p.Role != RoleServe {
		c.fail(path+".enable_lora", "true on a pool of role %s is not modelled; accepted: false, or role %s", p.Role,
			RoleServe)
	}
	if !slices.Contains(catalog.LoRARanks(), p.MaxLoRARank) {
		c.fail(path+".max_lora_rank", "%d is none that vLLM takes; expected one of %v", p.MaxLoRARank, catalog.LoRARanks())
	}
	if p.MaxCPULoRAs < p.MaxLoRAs {
		c.fail(path+".max_cpu_loras", "%d is below max_loras, %d, whose adapters it counts too; expected at least that",
			p.MaxCPULoRAs, p.MaxLoRAs)
	}
	modules := path + ".lora_target_modules"
	if len(p.LoRATargetModules) == 0 {
		c.fail(modules, "is empty; expected modules such as [q_proj, v_proj], or null for all")
	}
	for _, name := range p.LoRATargetModules {
		c.oneOf(modules, name, llm.AdapterModules())
	}
}
