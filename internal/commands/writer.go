package commands

import (
	"fmt"
	"strconv"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware/llm"
)

// writer writes the command of one pool.
type writer struct {
	s          *configs.Scenario
	p          *configs.Pool
	engine     *catalog.EngineSpec
	model      llm.Model
	checkpoint string
	command    Command
}

// say adds words.
func (w *writer) say(words ...string) { w.command.Words = append(w.command.Words, words...) }

// number adds a flag with a number, if the number is not the one that needs no saying.
func number[T int | int64 | float64](w *writer, flag string, n, unsaid T) {
	if n != unsaid {
		w.say(flag, decimal(n))
	}
}

// decimal writes a number without an exponent.
func decimal[T int | int64 | float64](n T) string {
	return strconv.FormatFloat(float64(n), 'f', -1, 64)
}

// text adds a flag with a text, unless it is empty.
func (w *writer) text(flag, text string) {
	if text != "" {
		w.say(flag, text)
	}
}

// switched adds a switch if it is on.
func (w *writer) switched(on bool, flag string) {
	if on {
		w.say(flag)
	}
}

// set adds a line to the file of settings.
func (w *writer) set(format string, args ...any) {
	w.command.Settings = append(w.command.Settings, fmt.Sprintf(format, args...))
}

// cannot remarks on what the command does not say.
func (w *writer) cannot(format string, args ...any) {
	w.command.Remarks = append(w.command.Remarks, fmt.Sprintf(format, args...))
}

// unsaid remarks on what no engine has an argument for.
func (w *writer) unsaid() {
	p, a := w.p, &w.engine.Arguments
	if p.Prefills() != p.Decodes() {
		w.cannot("requests reach it through a proxy that sends them to prefill and then to decode")
	}
	if p.Replicas > 1 {
		router := p.Router
		if router == "" {
			router = w.s.Router
		}
		w.cannot("start it once per replica, behind a router: %s", router)
	}
	if p.Attention != a.Attention {
		w.cannot("attention %s is a what-if", p.Attention)
	}
	if p.PreemptionVictim != a.PreemptionVictim {
		w.cannot("preemption_victim %s is a what-if", p.PreemptionVictim)
	}
	if w.s.Sparsity != "" {
		w.cannot("weight_sparsity %s is of a checkpoint made so", w.s.Sparsity)
	}
}

// order returns the order of the queue if the engine knows it; empty: it is first come, first served.
func (w *writer) order(known ...string) string {
	switch order := w.p.QueueOrder; {
	case order == catalog.OrderFCFS:
		return ""
	default:
		for _, k := range known {
			if k == order {
				return order
			}
		}
		w.cannot("%s %s is a what-if: no server orders its queue so", w.p.Own("queue_order"), order)
		return ""
	}
}

// weights returns the number format to convert the weights to; empty: they stay as they are. Engines convert to fp8 by
// themselves; every other format is that of a checkpoint, whose flag follows from it.
func (w *writer) weights(convertible bool) string {
	own := catalog.PublishedPrecision(w.model.Name)
	switch format := w.s.Weights; {
	case format == "" || format == own:
	case format == "fp8" && convertible:
		return "fp8"
	default:
		w.cannot("weights %s: name a checkpoint in that format", format)
	}
	return ""
}

// cache returns the engine's word for the number format of the KV cache; empty: that of the checkpoint.
func (w *writer) cache(word map[string]string) string {
	format := w.s.KVCache
	if format == "" {
		return ""
	}
	if known, ok := word[format]; ok {
		return known
	}
	w.cannot("kv_cache %s: the engine has no such cache", format)
	return ""
}

// interval returns how many tokens come to clients at a time, where they do not come one by one.
func (w *writer) interval() int64 {
	if n := w.s.Stream.StreamInterval; w.p.Decodes() && n > 1 {
		return n
	}
	return 0
}
