package vllmargs

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The engines, by their names in scenarios.
const (
	vllmV1      = "vllm-v1"
	vllmV0      = "vllm-v0"
	sglang      = "sglang"
	tensorRTLLM = "tensorrt-llm"
)

// Engines returns the engines whose arguments are known.
func Engines() []string { return []string{vllmV1, vllmV0, sglang, tensorRTLLM} }

// server is the command that starts one.
type server struct {
	engine string
	args   []string // behind the words that name it
	image  string   // of the container that it runs in; empty: none, or not vLLM's
	by     string   // what says which release it is; empty: nothing does
	note   string   // what is to be said of the choice of the engine
}

const accepted = `expected "vllm serve MODEL …", "python -m vllm.entrypoints.openai.api_server …", "docker run … vllm/vllm-openai …", ` +
	`"python -m sglang.launch_server …", "sglang serve …" or "trtllm-serve MODEL …"`

// serversMax bounds how many servers are looked at: two are what can be imported, and the error about more has what
// each of them is.
const serversMax = 16

// find returns the servers that a text starts: one, or one for each role of a disaggregated deployment. With a known
// engine, a text may be the arguments of one alone.
func (l *lexer) find(engine string) ([]*server, error) {
	var found []*server
	for _, words := range l.statements {
		s, err := serverIn(words, l.variables)
		if err != nil {
			return nil, err
		}
		if s != nil {
			found = append(found, s)
		}
	}
	if len(found) > serversMax {
		return nil, fmt.Errorf("the text starts %d servers; expected one, or one of each role", len(found))
	}
	switch {
	case len(found) > 0:
	case len(l.statements) == 0:
		return nil, errors.New("the command line is empty; " + accepted)
	case engine != "" && strings.HasPrefix(l.statements[len(l.statements)-1][0], "-"):
		found = append(found, &server{args: l.statements[len(l.statements)-1]})
	default:
		return nil, fmt.Errorf("%q starts no server that is known; %s; or --engine for arguments alone",
			clip(strings.Join(l.statements[0], " ")), accepted)
	}
	for _, s := range found {
		s.by = l.release(s)
		if err := s.choose(engine, l.value["VLLM_USE_V1"]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// serverIn returns the server that a command starts, if it starts one: behind assignments, launchers and docker run, or
// inside of what a shell is asked to run.
func serverIn(words []string, v variables) (*server, error) {
	for i, w := range words {
		if engine, n := starts(words[i:]); engine != "" {
			return &server{engine: engine, args: words[i+n:], image: imageIn(words[:i])}, nil
		}
		if path.Base(w) == "trtllm-serve" && i+1 < len(words) && strings.HasPrefix(words[i+1], "disaggregated") {
			return nil, errors.New("trtllm-serve disaggregated: separate pools for prefill and decode are not modelled; " +
				"expected trtllm-serve MODEL")
		}
	}
	for i, w := range words[:max(0, len(words)-1)] {
		if w != "-c" && w != "-lc" {
			continue
		}
		inner, err := split(words[i+1], v)
		if err != nil {
			return nil, err
		}
		for _, inside := range inner.statements {
			if s, err := serverIn(inside, v); s != nil {
				s.image = cmp.Or(s.image, imageIn(words))
				return s, err
			} else if err != nil {
				return nil, err
			}
		}
	}
	return image(words), nil
}

// starts says which engine's server the words start with, and how many of them name it.
func starts(words []string) (engine string, n int) {
	next := ""
	if len(words) > 1 {
		next = words[1]
	}
	module := func(names ...string) bool { return words[0] == "-m" && slices.Contains(names, next) }
	switch base := path.Base(words[0]); {
	case base == "vllm" && next == "serve", module("vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"):
		return vllmV1, 2
	case base == "sglang" && next == "serve", module("sglang.launch_server", "sglang.serve"):
		return sglang, 2
	case base == "trtllm-serve" && next == "serve":
		return tensorRTLLM, 2
	case base == "trtllm-serve" && !strings.HasPrefix(next, "disaggregated"):
		return tensorRTLLM, 1
	}
	return "", 0
}
