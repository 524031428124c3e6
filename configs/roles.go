package configs

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// The roles of a pool.
const (
	RoleServe   = "serve"   // prompts and tokens alike
	RolePrefill = "prefill" // prompts, whose KV cache it transfers to a decode pool
	RoleDecode  = "decode"  // tokens of requests whose KV cache comes from prefill pools
	RoleEncode  = "encode"  // inputs such as images, whose embeddings it transfers
)

func roles() []string { return []string{RoleServe, RolePrefill, RoleDecode, RoleEncode} }

// How a prefill pool transfers KV, and which pool emits the first token.
const (
	transferPull = "pull"
	TransferPush = "push"

	FirstAtPrefill = "prefill"
	firstAtDecode  = "decode"
)

// Decodes reports whether the pool emits the tokens of an output, and not just the first.
func (p *Pool) Decodes() bool { return p.Role == RoleServe || p.Role == RoleDecode }

// Prefills reports whether the pool reads prompts.
func (p *Pool) Prefills() bool { return p.Role == RoleServe || p.Role == RolePrefill }

// Enters reports whether requests come to the pool from their clients, and not from another pool.
func (p *Pool) Enters() bool { return p.Role != RoleDecode }

// sends reports whether the requests of the pool go on to another one.
func (p *Pool) sends() bool { return p.Role == RolePrefill || p.Role == RoleEncode }

// transferKeys are the keys of pools that send KV or embeddings to others.
func transferKeys() []string {
	return []string{"kv_transfer", "first_token", "kv_link", "kv_link_bps", "kv_link_latency_s", "kv_link_efficiency"}
}

// lacks reports whether the key is one that a pool of p's role has no use for. Embeddings are always pulled, and are no
// token.
func (p *Pool) lacks(key string) bool {
	switch {
	case key == "model":
		return p.Role != RoleEncode
	case key == "kv_transfer" || key == "first_token":
		return p.Role != RolePrefill
	}
	return !p.sends() && slices.Contains(transferKeys(), key)
}

// fillRole writes what the role of a pool implies.
func (p *Pool) fillRole() {
	if !p.sends() {
		return
	}
	p.KVLink = "nic"
	p.fillLink()
	if p.Role == RolePrefill {
		p.KVTransfer, p.FirstToken = transferPull, FirstAtPrefill
	}
}

// fillLink writes what transfers achieve of the link: of a network's what was measured, of another all.
func (p *Pool) fillLink() {
	p.KVLinkEfficiency, p.KVLinkLatencyS = hardware.TransferAchieves(p.KVLink)
}

// checkRoles refuses pools that transfer to no other pool, or wait for transfers from none.
func (s *Scenario) checkRoles(c *checker) {
	for i := range s.Pools {
		p := &s.Pools[i]
		for _, of := range []struct{ role, does string }{{RolePrefill, RoleDecode}, {RoleDecode, RolePrefill}} {
			if p.Role == of.role && len(s.PoolsOf(of.does)) == 0 {
				c.fail(s.PoolPath(p, "role"), "%q without a pool of role %s; expected one of each, or %q", of.role, of.does,
					RoleServe)
			}
		}
		if p.Role == RoleEncode && len(s.PoolsOf(RoleServe))+len(s.PoolsOf(RolePrefill)) == 0 {
			c.fail(s.PoolPath(p, "role"), "%q without a pool of role %s or %s; expected one behind it", RoleEncode, RoleServe,
				RolePrefill)
		}
	}
}

// CachesPrefixes reports whether some pool caches the beginnings of prompts.
func (s *Scenario) CachesPrefixes() bool {
	for i := range s.Pools {
		if s.Pools[i].EnablePrefixCaching {
			return true
		}
	}
	return false
}

// PoolsOf returns the indices of the pools of some role.
func (s *Scenario) PoolsOf(role string) (pools []int) {
	for i := range s.Pools {
		if s.Pools[i].Role == role {
			pools = append(pools, i)
		}
	}
	return pools
}

// PoolPath returns where a key of p, one of the pools of s or of its copies, stands in a file; without a key, where p
// does.
func (s *Scenario) PoolPath(p *Pool, key string) string {
	for i := range s.Pools {
		if at := fmt.Sprintf("pools[%d]", i); s.Pools[i].Name == p.Name && key == "" {
			return at
		} else if s.Pools[i].Name == p.Name {
			return strict.Join(at, key)
		}
	}
	panic("configs: no pool " + p.Name)
}

// ReplicasLimit returns how many replicas the pool may ever have.
func (p *Pool) ReplicasLimit() int { return max(p.Replicas, p.ReplicasMax) }

// checkTransfer refuses links that carry nothing, and engines that cannot run a part of a request.
func (p *Pool) checkTransfer(c *checker, path string, e *catalog.EngineSpec) {
	if p.Role != RoleServe && !e.Divides(p.Reserve) {
		c.fail(path+
			".engine", "%q takes the cache of a request for all of its output, or its batch as one, and a pool of role %s has "+
			"only a part; "+
			"accepted: %s", p.Engine, p.Role, strict.Quoted(catalog.Dividing()))
	}
	for _, key := range transferKeys() {
		if at := path + "." + key; p.lacks(key) && c.origins.given(at) {
			c.fail(at, "has no effect on a pool of role %s, which hands no cache over; accepted: null, or role %s", p.Role,
				RolePrefill)
		}
	}
	if !p.sends() {
		return
	}
	if p.KVLink != "" && c.origins.given(path+".kv_link_bps") {
		c.fail(path+".kv_link_bps", "%g stands beside kv_link %s; expected only one of them", p.KVLinkBps, p.KVLink)
	}
	if p.KVLink == "" && !c.origins.given(path+".kv_link_bps") {
		c.oneOf(path+".kv_link", p.KVLink, hardware.Links())
	}
}

// FirstTokenAtDecode reports whether some prefill pool leaves the first token to its decode pools.
func (s *Scenario) FirstTokenAtDecode() bool {
	for _, i := range s.PoolsOf(RolePrefill) {
		if s.Pools[i].FirstToken == firstAtDecode {
			return true
		}
	}
	return false
}
