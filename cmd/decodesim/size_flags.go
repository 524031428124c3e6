package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// subject is the flags that say what is sized, in place of a study's file or above one.
type subject struct {
	model, weights, kvCache, engine, trace string
	gpus, topology, parallel, slo          []string
	rate, budgetUSD                        string
	budgetGPUs                             string
}

// add declares the flags.
func (s *subject) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&s.model, "model", "", "`MODEL` to serve: a name, or a path to a config.json; in place of a study")
	flags.StringVar(&s.weights, "weights", "", "`PRECISION` of its weights: bf16 fp8 int8 int4 mxfp4 nvfp4")
	flags.StringVar(&s.kvCache, "kv-cache", "", "`PRECISION` of its KV cache")
	flags.StringVar(&s.engine, "engine", "", "`ENGINE` that serves it; without a study vllm-v1")
	flags.StringVar(&s.trace, "trace", "", "`FILE` of recorded requests to serve, plain or gzipped")
	flags.StringSliceVar(&s.gpus, "gpu", nil, "`GPUS` to choose from, with commas, such as h200,b200")
	flags.StringVar(&s.rate, "rate", "", "`REQUESTS` per second to sustain as cheaply as possible")
	flags.StringArrayVar(&s.slo, "slo", nil, "`RULES` to keep, with commas, such as 'ttft p95<=1s, itl p95<=50ms'")
	flags.StringSliceVar(&s.topology, "topology", nil, "`TOPOLOGIES`: colocated, disaggregated; without a study both")
	flags.StringSliceVar(&s.parallel, "parallel", nil,
		"`LAYOUTS` of a replica, such as tp4,tp8-pp2,dp16-ep; without a study all that fit the memory")
	flags.StringVar(&s.budgetGPUs, "budget-gpus", "", "`GPUS` that a deployment may have")
	flags.StringVar(&s.budgetUSD, "budget-usd-per-hour", "", "`DOLLARS` per hour that it may cost")
	cobra.CheckErr(c.MarkFlagFilename("trace"))
}

// settings returns what the flags say, as values of a study.
func (s *subject) settings(c *cobra.Command) (all []configs.Setting, err error) {
	add := func(flag, key, value string) {
		if c.Flags().Changed(flag) {
			all = append(all, configs.Setting{Key: key, Value: value, By: fmt.Sprintf("--%s %s", flag, value)})
		}
	}
	model := s.model
	if _, err := os.Stat(s.model); s.model != "" && (err != nil || !catalog.IsModelPath(s.model)) {
		name, unknown := names.PublishedName(s.model)
		if unknown != "" {
			return nil, fmt.Errorf("--model %s: %s (decodesim list models)", s.model, unknown)
		}
		model = name
	}
	var gpus []string
	for _, written := range s.gpus {
		gpu, unknown := names.PublishedGPU(strings.TrimSpace(written))
		if unknown != "" {
			return nil, fmt.Errorf("--gpu %s: %s (decodesim list gpus)", written, unknown)
		}
		gpus = append(gpus, gpu)
	}
	list := func(words []string) string { return "[" + strings.Join(words, ", ") + "]" }
	add("model", "model", model)
	add("weights", "weights", s.weights)
	add("kv-cache", "kv_cache", s.kvCache)
	add("engine", "engine", s.engine)
	add("trace", "trace", s.trace)
	add("gpu", "search.gpu", list(gpus))
	if c.Flags().Changed("rate") {
		add("rate", "rate.min", "null")
		add("rate", "rate.max", "null")
	}
	add("rate", "rate.at", s.rate)
	if c.Flags().Changed("slo") {
		for _, key := range []string{"slo.ttft_ms", "slo.tpot_ms", "slo.e2e_ms"} {
			add("slo", key, "null")
		}
	}
	add("slo", "slo", strings.Join(s.slo, ", "))
	add("topology", "search.topology", list(s.topology))
	if c.Flags().Changed("parallel") {
		add("parallel", "search.tensor_parallel", "null")
		add("parallel", "search.prefill_tensor_parallel", "null")
	}
	add("parallel", "search.parallel", list(s.parallel))
	add("budget-gpus", "budget.gpus", s.budgetGPUs)
	add("budget-usd-per-hour", "budget.usd_per_hour", s.budgetUSD)
	return all, nil
}

// study returns the study that the arguments and the flags name.
func (f *sizeFlags) study(c *cobra.Command, args []string) (*configs.Study, error) {
	given, err := f.subject.settings(c)
	switch {
	case err != nil:
		return nil, err
	case len(args) > 1:
		return nil, oneArgument(aStudy)(c, args)
	case len(args) == 0 && f.model == "":
		return nil, fmt.Errorf("size: missing %s, or --model with --gpu, --trace, --rate and --slo; "+
			"see decodesim size --help", aStudy)
	case len(args) == 0 && (len(f.gpus) == 0 || f.rate == "" || len(f.slo) == 0):
		return nil, errors.New("size: --model needs --gpu, --rate and --slo beside it, such as --gpu h200,b200 --rate 40 " +
			"--slo 'ttft p95<=1s, itl p95<=50ms'")
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	return configs.LoadStudyUnder(given, name, f.set)
}

const aStudy = "a study: a name or a path to a YAML file"
