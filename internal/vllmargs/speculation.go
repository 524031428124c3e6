package vllmargs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// drafts is what the flags say of speculative decoding.
type drafts struct {
	method, model string // as written; empty: not said
	tokens        int    // drafted for a sequence in a step; 0: not said
	by            []string
}

// drafted reads a flag of which drafts there are: method, model, tokens, or the rows that a step verifies, which are
// one more.
func drafted(what string) reader {
	return func(d *draft, g *given) error {
		if unknownVariable(g.value()) == "" {
			if err := d.drafts.take(what, g); err != nil {
				return err
			}
		}
		d.drafts.by = append(d.drafts.by, g.text())
		d.differ(g, speculative)
		return nil
	}
}

func (v *drafts) take(what string, g *given) error {
	switch what {
	case "method":
		v.method = g.value()
	case "model":
		v.model = g.value()
	case "tokens", "rows":
		n, err := g.whole(1, 65)
		if err != nil {
			return err
		}
		if what == "tokens" {
			v.tokens = int(n)
		} else if v.tokens == 0 {
			v.tokens = max(1, int(n)-1)
		}
	}
	return nil
}

// draftedKeys are the parts of vLLM's --speculative-config and of TensorRT-LLM's speculative_config that say which
// drafts there are.
var draftedKeys = map[string]string{
	"method": "method", "model": "model", "num_speculative_tokens": "tokens", "decoding_type": "method",
	"speculative_model_dir": "model", "max_draft_len": "tokens", "num_nextn_predict_layers": "tokens",
}

// draftedPart reads the object of such a flag, or a part of it behind a dot.
func draftedPart(d *draft, g *given) error {
	parts, err := g.parts()
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		if what, ok := draftedKeys[strings.ReplaceAll(key, "-", "_")]; ok {
			part := &given{flag: g.flag, written: g.written + "." + key, values: []string{fmt.Sprint(parts[key])}}
			if err := d.drafts.take(what, part); err != nil {
				return err
			}
		}
	}
	d.drafts.by = append(d.drafts.by, g.text())
	d.differ(g, speculative)
	return nil
}

// streamed reads how many tokens come to clients at a time.
func streamed(d *draft, g *given) error {
	n, err := g.whole(1, 1<<20)
	switch {
	case err != nil:
		return err
	case n == 1:
		d.idle(g, "as without it")
	default:
		d.stream = setting{key: "stream_interval", value: strconv.FormatInt(n, 10), by: g.text()}
	}
	return nil
}

// draftMethods are the engines' names of what scenarios call a method, in lower case; as of vLLM 0.33
// (vllm/config/speculative.py) and SGLang 0.5.23 (sglang/srt/arg_groups/fields/spec.py), TensorRT-LLM's unverified.
var draftMethods = map[string]hardware.DraftMethod{
	"draft_model": hardware.DraftModel, "standalone": hardware.DraftModel, "drafttarget": hardware.DraftModel,
	"eagle": hardware.DraftEAGLE, "eagle2": hardware.DraftEAGLE, "eagle3": hardware.DraftEAGLE,
	"medusa": hardware.DraftMedusa, "mtp": hardware.DraftMTP, "deepseek_mtp": hardware.DraftMTP,
	"nextn": hardware.DraftMTP, "ngram": hardware.DraftNGram, "[ngram]": hardware.DraftNGram,
}

// drafting returns the method of a scenario; empty: none is like it. A drafter that is a model of its own is one unless
// its name says EAGLE; SGLang's EAGLE without one is the checkpoint's own modules.
func (d *draft) drafting() hardware.DraftMethod {
	method, known := draftMethods[strings.ToLower(d.drafts.method)]
	switch model := strings.ToLower(d.drafts.model); {
	case method == hardware.DraftEAGLE && d.engine == sglang && model == "":
		return hardware.DraftMTP
	case known || d.drafts.method != "" || model == "":
		return method
	case draftMethods[model] != "":
		return draftMethods[model]
	case strings.Contains(model, "eagle"):
		return hardware.DraftEAGLE
	}
	return hardware.DraftModel
}

const (
	tokensAssumed     = 3   // drafts in a step, where the flags do not say
	acceptanceAssumed = 0.7 // of each draft, where the catalogue has no curve
)

// speculation writes what drafts as a comment: what is accepted is for the user to say, and stands in from the
// catalogue. Without the marks of the comment it is a part of the scenario that runs.
func (d *draft) speculation(p *page, m served) {
	if len(d.drafts.by) == 0 {
		return
	}
	method := d.drafting()
	if method == "" {
		return
	}
	tokens, assumed := d.drafts.tokens, ""
	if tokens == 0 {
		tokens, assumed = tokensAssumed, "  # assumed: the flags do not say"
	}
	acceptance, of := standIn(m.name, method, tokens)
	p.say("# Drafts, from %s. Uncomment this when the acceptance is yours: %s.",
		oneLine(strings.Join(d.drafts.by, " ")), of)
	p.say("# speculation:")
	p.say("#   method: %s", method)
	if method == hardware.DraftModel {
		name, unknown := names.CatalogModel(repository(d.drafts.model))
		if unknown != "" {
			name = d.drafts.model + "/config.json"
		}
		p.say("#   draft_model: %s", yamlText(name))
	}
	p.say("#   num_speculative_tokens: %d%s", tokens, assumed)
	p.say("#   acceptance: %s", acceptance)
}

// standIn returns an acceptance for the comment and what it is of: measured with this model and method if the catalogue
// has that, else with the method, else a rate.
func standIn(model string, method hardware.DraftMethod, tokens int) (acceptance, of string) {
	var other *catalog.AcceptanceCurves
	for _, name := range catalog.AcceptanceNames() {
		a, err := catalog.AcceptanceOf(name)
		if err != nil || !strings.HasPrefix(a.Method, string(method)) {
			continue
		}
		if lengths, err := a.Lengths(true); err != nil || len(lengths) < tokens {
			continue
		}
		if strings.HasPrefix(a.Model, model) {
			other = &a
			break
		}
		if other == nil {
			other = &a
		}
	}
	if other == nil {
		return fmt.Sprintf("{process: iid, rate: %g}", acceptanceAssumed), "this rate is assumed"
	}
	return fmt.Sprintf("{process: curve, name: %s}", other.Name),
		fmt.Sprintf("this curve was measured on %s, %s", other.Model, other.Dataset)
}
