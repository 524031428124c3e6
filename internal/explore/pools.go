package explore

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

// coLocated is the number of prefill replicas where every replica prefills and decodes.
const coLocated = "0"

func poolControls() []control {
	return []control{
		{key: "prefill", label: "Prefill replicas", unit: "apart; 0: co-located", group: groupPools, low: 0, high: 1024,
			whole: true, values: []string{coLocated, "1", "2", "3", "4", "6", "8", "12", "16"},
			paths: []string{"prefill", "split", "role"}, of: prefillOf, not: noSplit, edit: prefill},
		{key: "replicas", label: "Replicas", unit: "that decode", single: "that decodes", group: groupPools,
			low: 1, high: 1024, whole: true,
			values: []string{"1", "2", "3", "4", "6", "8", "12", "16", "24", "32"}, paths: []string{"replicas"},
			of: func(s *configs.Scenario) string { return strconv.Itoa(s.Pools[decoding(s)].Replicas) }, not: noSplit,
			edit: func(t *tree, b *base, v string) error {
				n, err := strconv.Atoi(v)
				if err != nil {
					return err
				}
				pools := t.pools()
				unset(t.root(), "split")
				if len(pools) == 2 && len(b.scenario.Pools) == 2 {
					if err := keepReplicas(t, b); err != nil {
						return err
					}
				}
				return set(pools[decodingNode(pools)], "replicas", n)
			}},
	}
}

// decoding is the number of the pool that makes tokens.
func decoding(s *configs.Scenario) int {
	for i := range s.Pools {
		if s.Pools[i].Decodes() {
			return i
		}
	}
	return 0
}

func decodingNode(pools []*yaml.Node) int {
	for i, p := range pools {
		if role := child(p, "role"); role == nil || role.Value == "decode" || role.Value == "serve" {
			return i
		}
	}
	return 0
}

// noSplit says why the pools of a scenario cannot be split or joined.
func noSplit(s *configs.Scenario) string {
	if len(s.Pools) == 1 || len(s.Pools) == 2 && prefillOf(s) != coLocated {
		return ""
	}
	return "the pools of this scenario are not one that serves, or prefill and decode"
}

func prefillOf(s *configs.Scenario) string {
	for i := range s.Pools {
		if s.Pools[i].Role == "prefill" {
			return strconv.Itoa(s.Pools[i].Replicas)
		}
	}
	return coLocated
}

// keepReplicas writes the replicas of every pool, which the scenario may have in its split.
func keepReplicas(t *tree, b *base) error {
	for i, p := range t.pools() {
		if child(p, "replicas") == nil {
			if err := set(p, "replicas", b.scenario.Pools[i].Replicas); err != nil {
				return err
			}
		}
	}
	return nil
}

// prefill splits the one pool of a scenario, joins two, or says how many of two prefill.
func prefill(t *tree, b *base, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return err
	}
	pools, list := t.pools(), child(t.root(), "pools")
	switch {
	case len(pools) == 1 && n == 0:
		return nil
	case len(pools) == 1:
		first, second := copied(pools[0]), pools[0]
		list.Content = []*yaml.Node{first, second}
		if err := named(second, "decode", "decode"); err != nil {
			return err
		}
		if err := named(first, "prefill", "prefill"); err != nil {
			return err
		}
		return set(first, "replicas", n)
	}
	if err := keepReplicas(t, b); err != nil {
		return err
	}
	unset(t.root(), "split")
	decode := decodingNode(pools)
	if n > 0 {
		return set(pools[1-decode], "replicas", n)
	}
	unset(pools[decode], "role", "kv_transfer", "first_token", "kv_link", "kv_link_bps", "kv_link_latency_s",
		"kv_link_efficiency")
	list.Content = []*yaml.Node{pools[decode]}
	return set(pools[decode], "name", "serve")
}

// named gives a pool a name and a role.
func named(pool *yaml.Node, name, role string) error {
	if err := set(pool, "name", name); err != nil {
		return err
	}
	return set(pool, "role", role)
}

// onPools sets a key of every pool.
func onPools(key string) func(*tree, *base, string) error {
	return func(t *tree, _ *base, v string) error {
		for _, p := range t.pools() {
			var value any = v
			if n, err := strconv.Atoi(v); err == nil {
				value = n
			}
			if err := set(p, key, value); err != nil {
				return err
			}
		}
		return nil
	}
}

// bandwidth gives the GPUs of every pool a multiple of their own bandwidth.
func bandwidth(t *tree, b *base, v string) error {
	times, err := strconv.ParseFloat(v, 64)
	if err != nil || times == 1 {
		return err
	}
	for i, p := range t.pools() {
		gpu := child(p, "gpu")
		if gpu == nil || gpu.Kind == yaml.MappingNode {
			from := b.scenario.Pools[min(i, len(b.scenario.Pools)-1)].GPU
			bps, err := bandwidthOf(from)
			if err == nil && gpu == nil {
				err = set(p, "gpu.from", from.From)
			}
			if err == nil {
				err = set(p, "gpu.bandwidth_bps", times*bps)
			}
			if err != nil {
				return err
			}
			continue
		}
		bps, err := bandwidthOf(configs.GPURef{From: gpu.Value})
		if err != nil {
			return err
		}
		if err := set(p, "gpu", changedGPU{gpu.Value, times * bps}); err != nil {
			return err
		}
	}
	return nil
}

// changedGPU is a section of a GPU with another bandwidth.
type changedGPU struct {
	From         string  `yaml:"from"`
	BandwidthBps float64 `yaml:"bandwidth_bps"`
}

func bandwidthOf(g configs.GPURef) (float64, error) {
	if g.BandwidthBps != nil {
		return *g.BandwidthBps, nil
	}
	gpu, err := catalog.Accelerator(g.From)
	return gpu.BandwidthBps.Value, err
}
