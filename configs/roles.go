package configs

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/strict"
)

// The roles of a pool.
const (
	RoleServe   = "serve"   // prompts and tokens alike
	RolePrefill = "prefill" // prompts, which it hands over to a decode pool with their cache
	RoleDecode  = "decode"  // tokens of requests that prefill pools hand over
	RoleEncode  = "encode"  // inputs such as images, of which it hands over embeddings
)

func roles() []string { return []string{RoleServe, RolePrefill, RoleDecode, RoleEncode} }

// How a prefill pool hands over, and which pool emits the first token.
const (
	transferPull = "pull"
	TransferPush = "push"

	FirstAtPrefill = "prefill"
	firstAtDecode  = "decode"
)

// Decodes reports whether the pool emits the tokens of an output, and not just the first.
func (p *Pool) Decodes() bool { return p.Role == RoleServe || p.Role == RoleDecode }

// prefills reports whether the pool reads prompts.
func (p *Pool) Prefills() bool { return p.Role == RoleServe || p.Role == RolePrefill }

// Enters reports whether requests come to the pool from their clients, and not from another pool.
func (p *Pool) Enters() bool { return p.Role != RoleDecode }

// handsOver reports whether the pool's requests go on to another one.
func (p *Pool) handsOver() bool { return p.Role == RolePrefill || p.Role == RoleEncode }

// handoverKeys are the keys of pools that hand over.
func handoverKeys() []string {
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
	return !p.handsOver() && slices.Contains(handoverKeys(), key)
}

// fillRole writes what the role of a pool implies.
func (p *Pool) fillRole() {
	if !p.handsOver() {
		return
	}
	p.KVLink, p.KVLinkEfficiency = "nic", 1
	if p.Role == RolePrefill {
		p.KVTransfer, p.FirstToken = transferPull, FirstAtPrefill
	}
}

// checkRoles refuses pools that hand over to nobody, or wait for what nobody hands over.
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

// caches reports whether some pool finds equal prompt beginnings again.
func (s *Scenario) CachesPrefixes() bool {
	for i := range s.Pools {
		if s.Pools[i].EnablePrefixCaching {
			return true
		}
	}
	return false
}

// poolsOf returns the indices of the pools of some role.
func (s *Scenario) PoolsOf(role string) (pools []int) {
	for i := range s.Pools {
		if s.Pools[i].Role == role {
			pools = append(pools, i)
		}
	}
	return pools
}

// path returns where a key of p, one of the pools of s or of its copies, stands in a file; without a key, where p does.
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

// most returns how many replicas the pool may ever have.
func (p *Pool) ReplicasLimit() int { return max(p.Replicas, p.ReplicasMax) }
