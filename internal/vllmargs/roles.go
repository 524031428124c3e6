package vllmargs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
)

// links says what becomes of how caches go over the network.
const links = "how a KV cache goes from server to server; kv_link says over which link"

// elsewhere says what becomes of the KV cache of a server that shares it.
const elsewhere = "KV cache moved between servers or to other memory"

// disaggregated reads the role of one of SGLang's servers.
func (d *draft) disaggregated(g *given) error {
	switch v := g.value(); v {
	case configs.RolePrefill, configs.RoleDecode:
		d.role = setting{key: "role", value: v, by: g.text(), flag: g.written}
	case "null", "none":
		d.idle(g, "as without it")
	default:
		return g.bad("prefill, decode or null")
	}
	return nil
}

// transferred reads the role of one of vLLM's servers; the connector that moves the cache is the user's.
func (d *draft) transferred(g *given) error {
	parts, err := g.parts()
	if err != nil {
		return err
	}
	said := fmt.Sprint(parts["kv_role"])
	role := map[string]string{"kv_producer": configs.RolePrefill, "kv_consumer": configs.RoleDecode}[said]
	connector := fmt.Sprint(parts["kv_connector"])
	if role == "" && strings.HasPrefix(connector, "LMCacheConnectorV1") {
		d.transferredByLMCache(g, parts)
		return nil
	}
	if role == "" {
		d.differ(g, elsewhere)
		return nil
	}
	d.role = setting{key: "role", value: role, by: g.written + " kv_role " + said, flag: g.written}
	return nil
}

// roles requires one server, or one of each role of a disaggregated deployment. A single one of these is imported as if
// it had both roles, and said to be.
func roles(all []*draft) error {
	if len(all) == 1 {
		if d := all[0]; d.role.key != "" {
			d.differing = append(d.differing, Remark{d.role.flag, "one pool of a disaggregated deployment; with the server " +
				"of the other role in the same text, both are imported"})
			d.role = setting{}
		}
		return nil
	}
	have := map[string]int{}
	for _, d := range all {
		have[d.role.value]++
	}
	if want := map[string]int{configs.RolePrefill: 1, configs.RoleDecode: 1}; !maps.Equal(have, want) {
		return fmt.Errorf("the text starts %d servers; expected one, to import each as a scenario of its own, or one of "+
			"each role, prefill and decode, as --kv-transfer-config and --disaggregation-mode say it", len(all))
	}
	slices.SortFunc(all, func(a, b *draft) int { return strings.Compare(b.role.value, a.role.value) }) // prefill first
	return nil
}

// servedBy is the model of all servers.
func servedBy(all []*draft) (served, error) {
	m, err := all[0].served()
	if err != nil {
		return m, err
	}
	for _, d := range all[1:] {
		other, err := d.served()
		if err != nil {
			return m, err
		}
		if other.name != m.name || other.weights != m.weights {
			return m, fmt.Errorf("one server has %s and the other %s; expected one model", m.written, other.written)
		}
	}
	return m, nil
}
