package calibration

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
)

// constant is a key of an efficiency file, with what it means.
type constant struct {
	key   string
	value float64
	about string
}

func constants(e *hardware.Efficiency) []constant {
	return []constant{
		{"bandwidth", e.Bandwidth, "of HBM bandwidth, reading weights"},
		{"compute", e.Compute, "of peak FLOP/s, dense products"},
		{"moe_compute", e.MoECompute, "of compute, expert products"},
		{"moe_rows", e.MoERows, "rows per expert at which half of the loss of few is left"},
		{"moe_tile_rows", e.MoETileRows, "rows at peak that expanding the weights of an expert to 16 bits costs"},
		{"moe_copy_bytes", e.MoECopyBytes, "bytes moved per element of a copy for an expert"},
		{"expert_imbalance", e.ExpertImbalance, "of what the busiest GPU has of experts beyond the mean"},
		{"expert_skew", e.ExpertSkew, "variation of the popularity of 128 experts and more"},
		{"quantized_compute", e.QuantizedCompute, "of compute, where activations are quantised"},
		{"kv_bandwidth", e.KVBandwidth, "of HBM bandwidth, reading the cache"},
		{"mixed_kv", e.MixedKV, "times that reading in steps with prompts"},
		{"attention_compute", e.AttentionCompute, "of peak FLOP/s, attention"},
		{"latent_compute", e.LatentCompute, "of peak FLOP/s, decodes on latents"},
		{"link", e.Link, "of link bandwidth, where no table says it"},
		{"collective_scale", e.CollectiveScale, "times what tables of collectives say"},
		{"layer_s", e.LayerS, "s per layer"},
		{"moe_layer_s", e.MoELayerS, "s more per MoE layer"},
		{"quantized_layer_s", e.QuantizedLayerS, "s more per layer that quantises activations"},
		{"mixer_layer_s", e.MixerLayerS, "s more per MLA or linear layer"},
		{"prompt_layer_s", e.PromptLayerS, "s more per layer of a step with prompts"},
		{"eager_layer_s", e.EagerLayerS, "s per layer on the host, launching it without a graph"},
		{"eager_launch", e.EagerLaunch, "times what MoE and other layers add, launching that"},
		{"prompt_launch", e.PromptLaunch, "of launching without a graph, with prompts in one"},
		{"launch_overlap", e.LaunchOverlap, "p of (gpu^p + launch^p)^(1/p) of steps with prompts"},
		{"rank_s", e.RankS, "s per step that ranks wait for one another"},
		{"step_s", e.StepS, "s per step on the host"},
		{"sequence_host_s", e.SequenceHostS, "s per decoding sequence on the host"},
		{"sequence_s", e.SequenceS, "s per decoding sequence"},
		{"collective_s", e.CollectiveS, "s per collective, beside its table"},
		{"first_token_s", e.FirstTokenS, "s before the first token, outside the engine"},
		{"tokenize_s", e.TokenizeS, "s more of each prompt token there, one prompt after the other"},
		{"overlap", e.Overlap, "p of (memory^p + compute^p)^(1/p)"},
	}
}

// Rounded returns e with the digits that its file keeps.
func Rounded(e hardware.Efficiency) hardware.Efficiency {
	for _, p := range Parameters() {
		x := p.at(&e)
		*x, _ = strconv.ParseFloat(digits(*x), 64)
	}
	return e
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// number writes a constant so that a file gives it back.
func number(x float64) string {
	if math.IsInf(x, 1) {
		return ".inf"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// WriteEfficiency writes an efficiency file that run accepts, with the errors of runs left out where they are known.
func WriteEfficiency(w io.Writer, e *hardware.Efficiency, left *catalog.LeftOut, head string) error {
	text := comment(head) + block(e, "")
	if left != nil {
		text += fmt.Sprintf("left_out: # errors of its own runs, each predicted by the others\n  runs: %d\n", left.Runs)
		for _, of := range []struct {
			key string
			pct float64
		}{{"tpot_median_pct", left.TPOTMedianPct}, {"tpot_p90_pct", left.TPOTP90Pct},
			{"ttft_median_pct", left.TTFTMedianPct}, {"ttft_p90_pct", left.TTFTP90Pct}} {
			text += fmt.Sprintf("  %s: %s\n", of.key, digits(of.pct))
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// WriteEfficiencies writes what is built in.
func WriteEfficiencies(w io.Writer, e *catalog.Efficiencies, head string) error {
	var b strings.Builder
	b.WriteString(comment(head))
	fmt.Fprintf(&b, "name: %s\ndescribes: %s\ndefault:\n%s", e.Name, strconv.Quote(e.Describes), block(&e.Default, "  "))
	for i := range e.Families {
		if i == 0 {
			b.WriteString("families:\n")
		}
		f := &e.Families[i]
		fmt.Fprintf(&b, "  - family: %s\n    efficiency:\n%s", f.Family, block(&f.Efficiency, "      "))
	}
	if len(e.GPUs) > 0 {
		b.WriteString("gpus:\n")
	}
	for i := range e.GPUs {
		fmt.Fprintf(&b, "  - gpu: %s\n", e.GPUs[i].GPU)
		if e.GPUs[i].Elsewhere {
			b.WriteString("    elsewhere: true\n")
		}
		fmt.Fprintf(&b, "    efficiency:\n%s", block(&e.GPUs[i].Efficiency, "      "))
	}
	for i := range e.Models {
		if i == 0 {
			b.WriteString("models:\n")
		}
		m := &e.Models[i]
		fmt.Fprintf(&b, "  - model: %s\n    weights: %s\n", m.Model, m.Weights)
		if m.Family != "" {
			fmt.Fprintf(&b, "    family: %s\n", m.Family)
		}
		if m.Architecture != "" {
			fmt.Fprintf(&b, "    architecture: %s\n", m.Architecture)
		}
		if m.Source != "" {
			fmt.Fprintf(&b, "    source: %s\n", strconv.Quote(m.Source))
		}
		writeScales(&b, m.Scales)
	}
	if e.Release != "" {
		fmt.Fprintf(&b, "release: %q\n", e.Release)
	}
	for i, r := range e.Releases {
		if i == 0 {
			b.WriteString("releases:\n")
		}
		fmt.Fprintf(&b, "  - release: %q\n", r.Release)
		writeScales(&b, r.Scales)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeScales(b *strings.Builder, scales []catalog.Scale) {
	b.WriteString("    scales:\n")
	for _, s := range scales {
		fmt.Fprintf(b, "      - {constant: %s, times: %s}\n", s.Constant, number(s.Times))
	}
}

func comment(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("# " + line + "\n")
	}
	return b.String()
}

// block writes an efficiency; constants without effect are left out.
func block(e *hardware.Efficiency, indent string) string {
	var b strings.Builder
	for _, c := range constants(e) {
		if optionalKey(c.key) && c.value == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s%-32s # %s\n", indent, c.key+": "+number(c.value), c.about)
	}
	fmt.Fprintf(&b, "%ssource: %s\n", indent, strconv.Quote(e.Source))
	return b.String()
}

// optionalKey reports whether a constant of 0 stands for one that has no effect, and is left out.
func optionalKey(key string) bool {
	switch key {
	case "mixed_kv", "moe_rows", "moe_tile_rows", "moe_copy_bytes", "expert_imbalance", "expert_skew",
		"latent_compute",
		"collective_scale", "eager_layer_s",
		"prompt_layer_s", "prompt_launch", "eager_launch", "launch_overlap", "rank_s", "sequence_host_s", "tokenize_s":
		return true
	}
	return strings.HasPrefix(key, "quantized_")
}
