package vllmargs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LMCache keeps cached prefixes in host memory, on drives and in a remote store. Its settings are variables of the
// environment, or keys lmcache.NAME of what vLLM passes to its connector, which stand above them (LMCache 0.5.6,
// v1/config.py and integration/vllm/vllm_v1_adapter.py). Each worker has a cache of max_local_cpu_size GiB.

// lmcacheHostGiB is max_local_cpu_size where nothing says it.
const lmcacheHostGiB = "5"

// lmcacheServer says what becomes of the settings of workers: LMCache is in each worker of SGLang 0.5.10
// (lmc_radix_cache.py:86), and a server that all workers connect to in 0.5.16 to 0.5.23, where
// lmcache_unified_radix_cache.py:60 connects them.
const lmcacheServer = "--enable-lmcache of SGLang 0.5.23 uses a server of LMCache's own, of whose --l1-size-gb " +
	"hicache_size should be the part of a worker; max_local_cpu_size is that of each worker of 0.5.10"

// lmcache is the settings of LMCache and the flag that has the engine use it; nil: none.
type lmcache struct {
	by    *given
	given map[string]any // keys lmcache.NAME, without their prefix
	value map[string]string
	order []string // names of variables, as the text sets them
}

// transferredByLMCache takes note of LMCache as the connector of a server that keeps its role.
func (d *draft) transferredByLMCache(g *given, parts map[string]any) {
	d.lmcache.by, d.lmcache.given = g, map[string]any{}
	extra, _ := parts["kv_connector_extra_config"].(map[string]any)
	for key, v := range extra {
		if name, ok := strings.CutPrefix(key, "lmcache."); ok {
			d.lmcache.given[name] = v
		}
	}
}

// setting returns what a setting is and who says so; empty: nobody does.
func (l *lmcache) setting(name string) (value, by string) {
	if v, ok := l.given[name]; ok {
		return fmt.Sprint(v), "lmcache." + name
	}
	variable := "LMCACHE_" + strings.ToUpper(name)
	if slices.Contains(l.order, variable) {
		return l.value[variable], variable
	}
	return "", ""
}

// gibibytes returns a size that has to be a number of GiB.
func (l *lmcache) gibibytes(name, otherwise string) (x float64, by string, err error) {
	value, by := l.setting(name)
	if by == "" {
		value, by = otherwise, name+" "+otherwise+", its default"
	}
	x, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(x > 0 && x <= 1<<20) {
		return 0, by, fmt.Errorf("%s: %q; expected a number of GiB above 0 and at most %d", by, value, 1<<20)
	}
	return x, by, nil
}

// lmcacheTiers turns the settings of LMCache into the key of host memory, and says what else they ask for.
func (d *draft) lmcacheTiers() error {
	l := &d.lmcache
	if l.by == nil {
		for _, name := range l.order {
			if strings.HasPrefix(name, "LMCACHE_") {
				d.idles = append(d.idles, Remark{name, "LMCache reads it, for which no flag asks"})
			}
		}
		return nil
	}
	value, said := l.setting("local_cpu")
	if said != "" && !slices.Contains([]string{"true", "1"}, strings.ToLower(value)) {
		d.differ(l.by, "a KV cache of LMCache that keeps nothing in host memory")
		return nil
	}
	x, by, err := l.gibibytes("max_local_cpu_size", lmcacheHostGiB)
	if err != nil {
		return err
	}
	key := "kv_offloading_size"
	if d.engine == "sglang" {
		key = "hicache_size" // of each worker
		d.note("%s", lmcacheServer)
	} else if n := d.tensor.orOne() * d.pipeline.orOne() * d.data.orOne(); n > 1 {
		d.note("%s is of each of %d workers, its key of the replica", by, n)
		x *= float64(n)
	}
	d.set(key, decimal(x), l.by)
	if d.engine == "vllm-v1" { // all layers before the step (LMCache 0.5.6, integration/vllm/vllm_v1_adapter.py:855)
		load := "sync"
		if on, _ := l.setting("use_layerwise"); slices.Contains([]string{"true", "1"}, strings.ToLower(on)) {
			load = "layerwise"
		}
		d.set("kv_load", load, l.by)
	}
	i := slices.IndexFunc(d.pool, func(s setting) bool { return s.key == key })
	d.pool[i].by = l.by.written + " " + by
	d.lmcacheStores()
	return nil
}

// lmcacheStores says which keys the stores below host memory have, of which no setting says everything.
func (d *draft) lmcacheStores() {
	l := &d.lmcache
	for _, store := range []struct{ name, why string }{
		{"local_disk", "drives are kv_tiers.nvme of the pool: {size_gib, read_bps}, whose bandwidth no setting says"},
		{"remote_url", "a remote store is kv_tiers.cluster of the pool: {size_gib, read_bps}, which no setting says"},
	} {
		if _, by := l.setting(store.name); by != "" {
			d.differing = append(d.differing, Remark{by, store.why})
		}
	}
	if slices.Contains(l.order, "LMCACHE_CONFIG_FILE") {
		d.differing = append(d.differing, Remark{"LMCACHE_CONFIG_FILE", "the file is not read; variables and lmcache.NAME " +
			"of --kv-transfer-config are"})
	}
}
