package configs

import (
	"fmt"
)

// Routing is what routers and splitters go by.
type Routing struct {
	StalenessS float64        `yaml:"staleness_s" bound:"[0,3600]" doc:"seconds after which a router looks at the loads again; 0: they are always known"`
	Weights    RoutingWeights `yaml:"weights" about:"what the routers kv-aware and weighted give to each thing"`
}

// RoutingWeights are what the routers kv-aware and weighted give to each thing.
type RoutingWeights struct {
	Queue  float64 `yaml:"queue" bound:"[0,1024]" doc:"of each request of a replica; weighted only"`
	Tokens float64 `yaml:"tokens" bound:"[0,1024]" doc:"of each prompt token that its requests have"`
	KV     float64 `yaml:"kv" bound:"[0,1024]" doc:"of its cache in use; weighted only"`
	Prefix float64 `yaml:"prefix" bound:"[0,1024]" doc:"of each prompt token that its cache lacks"`
}

// Disaggregation says which requests take which way, where there are several.
type Disaggregation struct {
	LocalBelowTokens int     `yaml:"local_below_tokens,omitempty" bound:"[1,1073741824]" unit:"tokens" doc:"prompts with fewer tokens to compute are read by the decode pool itself; null: none"`
	ServeShare       float64 `yaml:"serve_share,omitempty" bound:"(0,1]" doc:"of the requests that go to serve pools, at random; null: by load"`
}

// Admission says who may enter; the others are rejected at once.
type Admission struct {
	RatePerS          float64 `yaml:"rate_per_s,omitempty" bound:"(1e-6,1e8]" unit:"requests/s" doc:"requests/s that are earned; null: no such limit"`
	Burst             int64   `yaml:"burst,omitempty" bound:"[1,2147483647]" unit:"requests" doc:"requests that may be saved up; null: no rate_per_s"`
	TokensPerS        float64 `yaml:"tokens_per_s,omitempty" bound:"(1e-6,1e8]" unit:"tokens/s" doc:"tokens/s that are earned, of prompts and limits; null: no such limit"`
	TokenBurst        int64   `yaml:"token_burst,omitempty" bound:"[1,1099511627776]" unit:"tokens" doc:"tokens that may be saved up; null: no tokens_per_s"`
	QueueLimit        int64   `yaml:"queue_limit,omitempty" bound:"[1,2147483647]" unit:"requests" doc:"waiting requests per replica of the first pool at which nobody enters; null: no limit"`
	ShedLimit         int64   `yaml:"shed_limit,omitempty" bound:"[1,2147483647]" unit:"requests" doc:"as queue_limit, for those with a priority above shed_priority_above; null: no limit"`
	ShedPriorityAbove int64   `yaml:"shed_priority_above,omitempty" bound:"[-128,127]" doc:"the least urgent priority that shed_limit does not refuse; null: 0"`
}

// Autoscale changes the number of a pool's replicas while it runs.
type Autoscale struct {
	Pool           string          `yaml:"pool" doc:"name of the pool"`
	On             string          `yaml:"on" names:"autoscale-signals" doc:"what it looks at: queue requests kv ttft schedule"`
	Target         float64         `yaml:"target,omitempty" doc:"requests of a replica, share of its cache, or share of late first tokens; null: a schedule"`
	Low            float64         `yaml:"low" bound:"[0,1]" doc:"share of the cache that one replica fewer may use, on queue and ttft"`
	MinReplicas    int             `yaml:"min_replicas" unit:"replicas" doc:"replicas at least; 0: none where no request has been for stabilisation_s, and the next one starts one and waits for it"`
	IntervalS      float64         `yaml:"interval_s" bound:"[1e-3,horizon]" doc:"seconds between looks"`
	ProvisionS     float64         `yaml:"provision_s" bound:"[0,horizon]" doc:"seconds from the decision to the beginning of a cold start"`
	StabilisationS float64         `yaml:"stabilisation_s" bound:"[0,horizon]" doc:"seconds in which fewer must have been enough before one goes"`
	Schedule       []ScheduledSize `yaml:"schedule,omitempty" about:"sizes by instant, for on: schedule"`
}

// ScheduledSize is a number of replicas from an instant on.
type ScheduledSize struct {
	AtS      float64 `yaml:"at_s" required:"at_s and replicas" bound:"[0,horizon]" doc:"seconds after the start"`
	Replicas int     `yaml:"replicas" required:"at_s and replicas" unit:"replicas" doc:"from then on"`
}

// RoleSwitch moves replicas between the prefill and the decode pool while it runs.
type RoleSwitch struct {
	IntervalS float64 `yaml:"interval_s" bound:"[1e-3,horizon]" doc:"seconds between looks"`
	DelayS    float64 `yaml:"delay_s" bound:"[0,horizon]" doc:"seconds from the end in one role to the beginning of a cold start in the other"`
	Queue     float64 `yaml:"queue" bound:"[0,1e6]" unit:"requests" doc:"waiting requests per replica above which a pool starves"`
	High      float64 `yaml:"high" bound:"(0,1]" doc:"share of the decode pool's cache above which it starves"`
	Low       float64 `yaml:"low" bound:"[0,1]" doc:"share of it that one replica fewer may use"`
}

// Failure takes a replica down.
type Failure struct {
	Pool     string  `yaml:"pool" doc:"name of the pool"`
	Replica  int     `yaml:"replica" doc:"of the pool, from 0"`
	AtS      float64 `yaml:"at_s" required:"seconds after the start" bound:"[0,horizon]" doc:"seconds after the start"`
	DownS    float64 `yaml:"down_s,omitempty" bound:"(0,horizon]" doc:"seconds until the cold start of another; null: none comes"`
	InFlight string  `yaml:"in_flight" oneof:"in-flight" doc:"what becomes of its requests: retry, or fail"`
}

// RandomFailures take the replicas of a pool down at random.
type RandomFailures struct {
	Pool     string  `yaml:"pool" doc:"name of the pool"`
	MTBFS    float64 `yaml:"mtbf_s" required:"seconds" bound:"[1e-3,horizon]" doc:"seconds of a replica between failures, the mean of an exponential law"`
	MTTRS    float64 `yaml:"mttr_s" required:"seconds" bound:"[1e-3,horizon]" doc:"seconds until the cold start of another, the mean of an exponential law"`
	InFlight string  `yaml:"in_flight" oneof:"in-flight" doc:"what becomes of its requests: retry, or fail"`
	Spot     bool    `yaml:"spot,omitempty" doc:"only spot_replicas of the pool fail: the provider takes them back; null: any"`
}

// Drain has a replica take no more requests.
type Drain struct {
	Pool    string  `yaml:"pool" doc:"name of the pool"`
	Replica int     `yaml:"replica" doc:"of the pool, from 0"`
	AtS     float64 `yaml:"at_s" required:"seconds after the start" bound:"[0,horizon]" doc:"seconds after the start"`
	DownS   float64 `yaml:"down_s,omitempty" bound:"(0,horizon]" doc:"seconds from its end until the cold start of another; null: none comes"`
}

// What becomes of the requests of a replica that fails.
const (
	InFlightRetry = "retry"
	inFlightFail  = "fail"
)

// defaultFleet writes what the sections of a fleet are made of unless some layer says otherwise; skeleton has their
// rows. A period of 15 s and a stabilisation of 300 s are those of Kubernetes' horizontal pod autoscaler (from memory:
// unverified); shares of the cache are assumed.
func (s *Scenario) defaultFleet(skeleton *Scenario) {
	s.Routing = Routing{Weights: RoutingWeights{Queue: 1, Tokens: 1, KV: 1, Prefix: 1}}
	for range skeleton.Autoscale {
		s.Autoscale = append(s.Autoscale, Autoscale{MinReplicas: 1, Low: 0.8, IntervalS: 15, StabilisationS: 300})
	}
	s.Energy = DefaultEnergy()
	s.RoleSwitch = &RoleSwitch{IntervalS: 15, Queue: 1, High: 0.9, Low: 0.7}
	for range skeleton.Failures {
		s.Failures = append(s.Failures, Failure{InFlight: InFlightRetry})
	}
	for range skeleton.RandomFailures {
		s.RandomFailures = append(s.RandomFailures, RandomFailures{InFlight: InFlightRetry})
	}
}

// Energy says what the accelerators of a run draw and what it comes to. An absent one is not said.
type Energy struct {
	Idle     float64 `yaml:"idle" bound:"[0,1]" doc:"share of tdp_w that an accelerator draws while no step runs"`
	Decode   float64 `yaml:"decode" bound:"[0,1]" doc:"the same in steps of decodes alone, far from their bound; at it all of tdp_w is drawn"`
	Prefill  float64 `yaml:"prefill" bound:"[0,1]" doc:"the same in steps with prompts"`
	HostW    float64 `yaml:"host_w,omitempty" bound:"(0,1e6]" unit:"W" doc:"watts of the rest of the server for each accelerator; null: accelerators alone are counted"`
	PUE      float64 `yaml:"pue" bound:"[1,10]" doc:"power of the building over that of the servers"`
	GridGCO2 float64 `yaml:"grid_gco2_per_kwh,omitempty" bound:"(0,1e5]" unit:"g/kWh" doc:"grams of CO2 of a kilowatt hour of the grid; null: no carbon is said"`
	USDKWh   float64 `yaml:"usd_per_kwh,omitempty" bound:"(0,1e3]" unit:"USD/kWh" doc:"price of electricity, where it is not part of the rent; null: it is"`
}

// DefaultEnergy returns shares of the power of a data sheet. Decode and prefill are fitted to the mean power of 16 runs
// of Llama-2-70B on A100s (splitwise-sim, data/perf_model.csv at commit 8f99e7d) and of 5 loads of gpt-oss-120b on an
// H200 (vLLM 0.22), each source counting as much: within 5.1 % and 7.3 % in the median, 17 % at most. Idle is the
// lowest mean power among the former, of runs that ended with their first token; it is unverified.
func DefaultEnergy() *Energy { return &Energy{Idle: 0.17, Decode: 0.26, Prefill: 1, PUE: 1} }

// EnergyEvidence is what the shares of DefaultEnergy were fitted to.
const EnergyEvidence = "fitted to mean powers of 16 runs on A100s (splitwise-sim) and 5 on an H200, within 17 %; " +
	"idle is an upper end"

// checkEnergy refuses shares that no accelerator has: idling draws least.
func (s *Scenario) checkEnergy(c *checker) {
	e := s.Energy
	if e == nil {
		return
	}
	for _, of := range []struct {
		key   string
		share float64
	}{{"decode", e.Decode}, {"prefill", e.Prefill}} {
		if of.share < e.Idle {
			c.fail("energy."+of.key, "%g is less than energy.idle, %g; expected a share from it to 1", of.share, e.Idle)
		}
	}
}

// checkPurchases refuses replicas that are paid twice, and prices of none.
func (s *Scenario) checkPurchases(c *checker) {
	for i := range s.Pools {
		p, path := &s.Pools[i], fmt.Sprintf("pools[%d].", i)
		for _, of := range []struct {
			kind     string
			replicas int
			price    float64
		}{{"reserved", p.ReservedReplicas, p.ReservedPricePerHour}, {"spot", p.SpotReplicas, p.SpotPricePerHour}} {
			switch {
			case of.replicas > 0 && of.price == 0:
				c.fail(path+of.kind+"_price_per_hour", "missing beside %s_replicas; expected USD for an hour of a device", of.kind)
			case of.replicas == 0 && of.price > 0:
				c.fail(path+of.kind+"_replicas", "missing beside %s_price_per_hour; expected a whole number from 1 to %d",
					of.kind, p.Replicas)
			}
		}
		if n := p.ReservedReplicas + p.SpotReplicas; n > p.Replicas {
			c.fail(path+"spot_replicas", "%d beside %d reserved ones are more than the %d replicas; expected %d at most",
				p.SpotReplicas, p.ReservedReplicas, p.Replicas, max(0, p.Replicas-p.ReservedReplicas))
		}
	}
	for i, f := range s.RandomFailures {
		if p := s.poolByName(f.Pool); f.Spot && p != nil && p.SpotReplicas == 0 {
			c.fail(fmt.Sprintf("random_failures[%d].spot", i), "pool %q has no spot_replicas; accepted: null", f.Pool)
		}
	}
}

// poolByName returns the pool of that name; nil: there is none.
func (s *Scenario) poolByName(name string) *Pool {
	for i := range s.Pools {
		if s.Pools[i].Name == name {
			return &s.Pools[i]
		}
	}
	return nil
}
