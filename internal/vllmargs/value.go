package vllmargs

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
)

// bad says what is wrong with the value of a flag.
func (g *given) bad(want string) error {
	if name := unknownVariable(g.value()); name != "" {
		return fmt.Errorf("%s: the variable %s has no value; expected %s: give it with --var %s=VALUE", g.text(), name, want,
			name)
	}
	return fmt.Errorf("%s: expected %s", g.text(), want)
}

// whole reads a whole number.
func (g *given) whole(low, high int64) (int64, error) {
	n, err := strconv.ParseInt(g.value(), 10, 64)
	if err != nil || n < low || n > high {
		return 0, g.bad(fmt.Sprintf("a whole number from %d to %d", low, high))
	}
	return n, nil
}

// suffixes are the powers that vLLM reads behind a number: small letters decimal, capitals binary.
var suffixes = map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}

// tokensMax bounds token counts as configs does.
const tokensMax = 1 << 30

// tokens reads a number of tokens such as 8192, 8k (8000) or 8K (8192).
func (g *given) tokens() (int64, error) {
	text, unit := g.value(), 1.0
	if n := len(text); n > 1 {
		if u, ok := suffixes[text[n-1]]; ok {
			text, unit = text[:n-1], u
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	x *= unit
	if err != nil || !(x >= 1 && x <= tokensMax) || (unit == 1 && x != math.Trunc(x)) {
		return 0, g.bad(fmt.Sprintf("a whole number from 1 to %d, or one such as 32k (32000) or 32K (32768)", tokensMax))
	}
	return int64(x), nil
}

// positive reads a number above 0.
func (g *given) positive(high float64) (float64, error) {
	x, err := strconv.ParseFloat(g.value(), 64)
	if err != nil || !(x > 0 && x <= high) {
		return 0, g.bad(fmt.Sprintf("a number above 0 and at most %g", high))
	}
	return x, nil
}

// truth reads a boolean of a configuration file, or of a switch with a value.
func (g *given) truth() (bool, error) {
	switch strings.ToLower(g.value()) {
	case "true", "1", "":
		return !g.off, nil
	case "false", "0":
		return g.off, nil
	}
	return false, g.bad("true or false")
}

// object reads a JSON object.
func (g *given) object() (map[string]any, error) {
	var o map[string]any
	if err := json.Unmarshal([]byte(g.value()), &o); err != nil || o == nil {
		return nil, g.bad(`a JSON object such as '{"key": "value"}'`)
	}
	if err := inputs.DuplicateKey([]byte(g.value())); err != nil {
		return nil, g.bad("a JSON object with each key once")
	}
	return o, nil
}

// parts returns what a flag says of an object: all of it, or what stands behind a dot; nothing of a variable without a
// value.
func (g *given) parts() (map[string]any, error) {
	switch {
	case len(g.path) > 0:
		return map[string]any{strings.Join(g.path, "."): g.value()}, nil
	case unknownVariable(g.value()) != "":
		return nil, nil
	}
	return g.object()
}

// The readers of values that become a key of the pool as they are.

func count(key string, high int64) reader {
	return func(d *draft, g *given) error {
		n, err := g.whole(1, high)
		if err == nil {
			d.set(key, strconv.FormatInt(n, 10), g)
		}
		return err
	}
}

func tokens(key string) reader {
	return func(d *draft, g *given) error {
		n, err := g.tokens()
		if err == nil {
			d.set(key, strconv.FormatInt(n, 10), g)
		}
		return err
	}
}

func positive(key string, high float64) reader {
	return func(d *draft, g *given) error {
		x, err := g.positive(high)
		if err == nil {
			d.set(key, strconv.FormatFloat(x, 'g', -1, 64), g)
		}
		return err
	}
}

// truth reads a switch whose key says the same, or, if inverse, the contrary.
func truth(key string, inverse bool) reader {
	return func(d *draft, g *given) error {
		on, err := g.truth()
		if err == nil {
			d.set(key, strconv.FormatBool(on != inverse), g)
		}
		return err
	}
}

// parallel reads a number of GPUs.
func parallel(field func(d *draft) *size) reader {
	return func(d *draft, g *given) error {
		n, err := g.whole(1, 1024)
		if err == nil {
			*field(d) = size{int(n), g}
		}
		return err
	}
}

// choice reads one of several words, each of which has a word of its own in scenarios. One that stands for "" exists
// and is not modelled.
func choice(key, why string, words ...[2]string) reader {
	return func(d *draft, g *given) error {
		var names []string
		for _, w := range words {
			if strings.EqualFold(w[0], g.value()) {
				if w[1] == "" {
					d.differ(g, why)
				} else {
					d.set(key, w[1], g)
				}
				return nil
			}
			names = append(names, w[0])
		}
		return g.bad("one of " + strings.Join(names, ", "))
	}
}

// idle is for flags that no simulated number depends on.
func idle(why string) reader {
	return func(d *draft, g *given) error {
		d.idle(g, why)
		return nil
	}
}

// speculative says what becomes of drafts.
const speculative = "speculative decoding: a command line does not say how much is accepted; the scenario has it " +
	"in a comment, with an acceptance to confirm"

// differs is for flags that change what users feel and are not modelled; a switch that is off changes nothing.
func differs(why string) reader {
	return func(d *draft, g *given) error {
		if g.flag.takes == nothing {
			on, err := g.truth()
			if err != nil {
				return err
			}
			if !on {
				d.idle(g, "off")
				return nil
			}
		}
		d.differ(g, why)
		return nil
	}
}

// differsAbove is for numbers that change nothing up to a limit.
func differsAbove(limit float64, why string) reader {
	return func(d *draft, g *given) error {
		x, err := strconv.ParseFloat(g.value(), 64)
		switch {
		case err != nil && unknownVariable(g.value()) == "":
			return g.bad("a number")
		case err == nil && x <= limit:
			d.idle(g, "as without it")
		default:
			d.differ(g, why)
		}
		return nil
	}
}

// differsJSON is for objects: they must be some.
func differsJSON(why string) reader {
	return func(d *draft, g *given) error {
		if len(g.path) == 0 && unknownVariable(g.value()) == "" {
			if _, err := g.object(); err != nil {
				return err
			}
		}
		d.differ(g, why)
		return nil
	}
}
