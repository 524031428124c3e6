package configs

import "fmt"

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
