package configs

import (
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// checkHandover refuses links that carry nothing, and engines that cannot run a part of a request.
func (p *Pool) checkHandover(c *checker, path string, e *catalog.EngineSpec) {
	if p.Role != RoleServe && !e.Divides(p.Reserve) {
		c.fail(path+
			".engine", "%q takes the cache of a request for all of its output, or its batch as one, and a pool of role %s has "+
			"only a part; "+
			"accepted: %s", p.Engine, p.Role, strict.Quoted(catalog.Dividing()))
	}
	for _, key := range handoverKeys() {
		if at := path + "." + key; p.lacks(key) && c.origins.given(at) {
			c.fail(at, "has no effect on a pool of role %s, which hands no cache over; accepted: null, or role %s", p.Role,
				RolePrefill)
		}
	}
	if !p.handsOver() {
		return
	}
	if p.KVLink != "" && c.origins.given(path+".kv_link_bps") {
		c.fail(path+".kv_link_bps", "%g stands beside kv_link %s; expected only one of them", p.KVLinkBps, p.KVLink)
	}
	if p.KVLink == "" && !c.origins.given(path+".kv_link_bps") {
		c.oneOf(path+".kv_link", p.KVLink, hardware.Links())
	}
}

// withheld reports whether some prefill pool leaves the first token to its decode pools.
func (s *Scenario) FirstTokenAtDecode() bool {
	for _, i := range s.PoolsOf(RolePrefill) {
		if s.Pools[i].FirstToken == firstAtDecode {
			return true
		}
	}
	return false
}
