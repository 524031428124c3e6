package vllmargs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
)

// draft is what a command line amounts to so far.
type draft struct {
	options    Options
	engine     string
	flags      table
	positional []string // words that are no flags: the model

	model                         *given
	quantization                  *given
	kvCache                       setting
	router                        setting
	pool                          []setting // limits of the engine
	tensor, pipeline              size
	data, attention, experts      size
	rankSwitch, expertSwitchGiven *given  // attention data parallelism; whole experts on each GPU
	exchange                      setting // how tokens reach experts
	exchangeGiven                 *given
	overlap                       string // what a GPU computes while they do
	overlapGiven                  *given
	nccl                          *given // leaves all-reduces to NCCL
	eplb                          *given // experts are placed by their load
	redundant                     size   // experts that are placed more than once
	tokenBudget                   *given // of the KV cache, in tokens
	batchWait                     *given // steps that prompts wait for others
	rankWaits                     rankWaits
	role, stream                  setting
	drafts                        drafts
	hostSwitch                    *given // a KV cache in host memory, and its size, in gigabytes and in caches of a GPU
	hostSize, hostRatio           *given
	lmcache                       lmcache
	priority                      prioritySwitches

	idles, differing []Remark
	unknown          []Remark
	notes            []string
}

// size is a number of GPUs and the flag that says so; 0: it is not given.
type size struct {
	n  int
	by *given
}

func (s size) orOne() int { return max(1, s.n) }

// setting is a key of a scenario and where it comes from.
type setting struct {
	key, value, by string
	flag           string // by, without its value
}

// set gives a limit of the engine a value.
func (d *draft) set(key, value string, g *given) {
	s := setting{key, value, g.text(), g.written}
	if i := slices.IndexFunc(d.pool, func(have setting) bool { return have.key == key }); i >= 0 {
		if d.pool[i].value != value {
			d.note("%s and %s both say %s; the last counts", d.pool[i].by, s.by, key)
		}
		d.pool[i] = s
		return
	}
	d.pool = append(d.pool, s)
}

func (d *draft) has(key string) bool {
	return slices.ContainsFunc(d.pool, func(s setting) bool { return s.key == key })
}

// value returns what a key of the pool is set to; empty: none.
func (d *draft) value(key string) string {
	for _, s := range d.pool {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

func (d *draft) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// fit drops what the engine has no argument for, and says so. An order by the prefix cache gives way where SGLang has
// none: it takes fcfs then (unverified).
func (d *draft) fit() error {
	cache := d.value("radix_cache")
	off := cache == "false" || cache == "" && d.role.value == "decode"
	if off && d.value("schedule_policy") == "lpm" {
		d.pool = slices.DeleteFunc(d.pool, func(s setting) bool { return s.key == "schedule_policy" })
		d.note("--schedule-policy lpm goes by the prefix cache, which is off: fcfs is taken, as SGLang does")
	}
	if d.value("enable_lora") != "true" {
		d.pool = slices.DeleteFunc(d.pool, func(s setting) bool {
			about := strings.Contains(s.key, "lora")
			if about {
				d.idles = append(d.idles, Remark{s.flag, "no LoRA adapters without --enable-lora"})
			}
			return about
		})
	}
	e, err := catalog.Engine(d.engine)
	if err != nil {
		return err
	}
	d.pool = slices.DeleteFunc(d.pool, func(s setting) bool {
		lacking := !slices.Contains(e.OwnNames(), s.key)
		if lacking {
			d.differing = append(d.differing, Remark{s.flag, "the engine " + d.engine + " of scenarios has no " + s.key})
		}
		return lacking
	})
	return nil
}

// modelled takes note of the model.
func (d *draft) modelled(g *given) error {
	d.model = g
	return nil
}

// expertSwitch puts whole experts on each GPU.
func (d *draft) expertSwitch(g *given) error {
	on, err := g.truth()
	if err == nil && on {
		return d.wholeExperts(g)
	}
	return err
}

// exchanges reads which kernels send tokens to experts, in the words of a flag. Without experts of other data-parallel
// ranks none do.
func exchanges(words ...[2]string) reader {
	return func(d *draft, g *given) error {
		for _, w := range words {
			if w[0] == g.value() {
				d.exchange, d.exchangeGiven = setting{key: "all_to_all", value: w[1], by: g.text()}, g
				return nil
			}
		}
		d.exchange = setting{}
		d.idle(g, kernels)
		return nil
	}
}

// overlaps reads a switch for what a GPU computes while tokens are under way to experts and back. Of two the one with
// two batches counts.
func overlaps(with string) reader {
	return func(d *draft, g *given) error {
		on, err := g.truth()
		if err != nil {
			return err
		}
		switch {
		case !on:
			d.idle(g, "off")
		case d.overlapGiven != nil && d.overlap == "two-batch":
			d.idle(g, d.overlapGiven.text()+" hides more")
		default:
			if d.overlapGiven != nil {
				d.idle(d.overlapGiven, g.text()+" hides more")
			}
			d.overlap, d.overlapGiven = with, g
		}
		return nil
	}
}

// switched keeps in at a switch that is on; one that is off changes nothing.
func switched(at func(*draft) **given) reader {
	return func(d *draft, g *given) error {
		on, err := g.truth()
		switch {
		case err != nil:
			return err
		case on:
			*at(d) = g
		default:
			d.idle(g, "off")
		}
		return nil
	}
}

func (d *draft) wholeExperts(g *given) error {
	d.expertSwitchGiven = g
	return nil
}

// placedByLoad has experts placed by their load.
func (d *draft) placedByLoad(g *given) error {
	on, err := g.truth()
	if err == nil && on {
		d.eplb = g
	}
	return err
}

// redundantExperts is how many experts of a layer are placed more than once.
func (d *draft) redundantExperts(g *given) error {
	n, err := g.whole(0, 4096)
	d.redundant = size{int(n), g}
	return err
}

// placement reads what --eplb-config says of redundant experts; how often and by which loads experts are placed anew is
// not modelled.
func (d *draft) placement(g *given) error {
	parts, err := g.parts()
	if err != nil {
		return err
	}
	switch n := parts["num_redundant_experts"].(type) {
	case nil:
		d.differ(g, "when experts are placed anew; they are taken to be where their load asks for them")
	default:
		d.redundant.by = g
		d.redundant.n, err = strconv.Atoi(fmt.Sprint(n))
	}
	if d.redundant.n < 0 || err != nil {
		return g.bad("num_redundant_experts from 0")
	}
	return nil
}

// attentionRanks splits attention by sequences and not by heads.
func (d *draft) attentionRanks(g *given) error {
	on, err := g.truth()
	if err == nil && on {
		d.rankSwitch = g
	}
	return err
}

// totalTokens sizes the KV cache in tokens, which become blocks once the size of one is known.
func (d *draft) totalTokens(g *given) error {
	_, err := g.whole(1, 1<<40)
	d.tokenBudget = g
	return err
}

// balanced is how SGLang shares requests between replicas of a model behind one server.
func (d *draft) balanced(g *given) error {
	switch g.value() {
	case "round_robin":
		d.router = setting{key: "router", value: "round-robin", by: g.text()}
	case "shortest_queue", "total_requests", "total_tokens", "minimum_tokens":
		d.router = setting{key: "router", value: "least-loaded", by: g.text()}
	case "auto", "follow_bootstrap_room":
		d.idle(g, "as without it")
	default:
		return g.bad("one of auto, round_robin, shortest_queue, total_requests, total_tokens, minimum_tokens")
	}
	return nil
}
