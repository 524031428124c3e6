package describe

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
)

// Kinds are the kinds of what is built in.
func Kinds() []string {
	return []string{"models", "gpus", "engines", "efficiencies", "acceptance", "policies", "scenarios", "studies"}
}

// Tables returns a table with its head; columns after the first that begin with a digit in it are numbers.
func Tables(kind string) ([][]string, error) {
	switch kind {
	case "models":
		return listModels()
	case "gpus":
		return listGPUs()
	case "engines":
		return listEngines()
	case "efficiencies":
		return listEfficiencies()
	case "acceptance":
		return listAcceptance()
	case "policies":
		return listPolicies(), nil
	case "scenarios":
		return listQuestions("scenario", "scenarios", configs.ScenarioNames())
	case "studies":
		return listQuestions("study", "studies", configs.StudyNames())
	}
	if near := strict.Suggest(kind, Kinds()); near != "" {
		return nil, fmt.Errorf("list: unknown kind %q; did you mean %q?", kind, near)
	}
	return nil, fmt.Errorf("list: unknown kind %q; valid kinds: %s", kind, strings.Join(Kinds(), ", "))
}

// Count returns how many there are of a kind.
func Count(kind string) (n int, err error) {
	rows, err := Tables(kind)
	for _, row := range rows[min(1, len(rows)):] {
		if len(row) == 0 { // notes follow
			break
		}
		n++
	}
	return n, err
}

func listModels() ([][]string, error) {
	rows := [][]string{{"model", "parameters", "active", "layers", "experts", "context", "KV B/token", "attention",
		"weights"}}
	for _, name := range catalog.ModelNames() {
		m, err := catalog.Model(name)
		if err != nil {
			return nil, err
		}
		experts := "–"
		if m.Experts() > 0 {
			experts = fmt.Sprintf("%d of %d", m.TopK(), m.Experts())
		}
		rows = append(rows, []string{
			name, billions(m.ParamsTotal()), billions(m.Active()), fmt.Sprint(m.LayerCount()), experts,
			text.Count(m.ContextMax),
			cacheBytes(m), m.AttentionKind(), WeightsOf(&m),
		})
	}
	return rows, nil
}

// cacheBytes is what a token adds to the cache of the whole model, in the checkpoint's type or else bf16.
func cacheBytes(m llm.Model) string {
	element, sum := 2.0, 0.0
	if m.Precision.KVCache == "fp8" {
		element = 1
	}
	for _, g := range m.Attention() {
		sum += g.KVBytesPerToken(element) + g.IndexBytesPerToken(element)
	}
	return text.Count(int64(math.Round(sum)))
}

func listGPUs() ([][]string, error) {
	rows := [][]string{{"gpu", "vendor", "memory GB", "TB/s", "bf16 TFLOP/s", "fp8 TFLOP/s", "link GB/s", "TDP W",
		"grade", "USD/h", "provider"}}
	for _, name := range catalog.GPUNames() {
		g, err := catalog.GPU(name)
		if err != nil {
			return nil, err
		}
		price, provider := "–", "–"
		if g.Price.Known() {
			price, provider = fmt.Sprintf("%.2f", g.Price.USDPerHour), g.Price.Provider+", "+g.Price.Date
		}
		rows = append(rows, []string{
			name, g.Vendor, figure(g.MemoryBytes, 1e9), figure(g.BandwidthBps, 1e12), figure(g.FLOPS.BF16, 1e12),
			figure(g.FLOPS.FP8, 1e12),
			figure(g.ScaleUpBps, 1e9), figure(g.TDPW, 1), gradeOf(&g), price, provider,
		})
	}
	return append(rows, []string{},
		[]string{"peaks are dense; ? stands in no document that was read; – nobody states it; ≠ sources disagree, and show " +
			"NAME says how"},
		[]string{"grade: the lowest of its numbers: A the maker's text, or quoted by several; B one secondary source; C " +
			"reported or derived"}), nil
}

// gradeOf is the lowest grade of evidence of an accelerator's figures: a figure without one was read in the maker's
// data sheet, or in no document.
func gradeOf(g *hardware.GPU) string {
	lowest := "A"
	for _, f := range g.Fields() {
		grade := f.Grade
		if grade == "" && f.Unverified {
			grade = "C"
		}
		lowest = max(lowest, grade)
	}
	return lowest
}

func figure(q hardware.Quantity, unit float64) string {
	switch {
	case !q.Known():
		return "–"
	case q.Unverified:
		return text.Short(q.Value/unit) + "?" + disagreement(q)
	}
	return text.Short(q.Value/unit) + disagreement(q)
}

// disagreement marks a figure of which other sources say something else.
func disagreement(q hardware.Quantity) string {
	if q.Conflict != "" {
		return "≠"
	}
	return ""
}

func listEngines() ([][]string, error) {
	rows := [][]string{{"engine", "scheduler", "sequences", "tokens a step", "memory", "describes"}}
	for _, name := range catalog.EngineNames() {
		e, err := catalog.Engine(name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{
			name, e.Scheduler, e.Own("max_num_seqs"), e.Own("max_num_batched_tokens"), e.Own("gpu_memory_utilization"),
			e.Describes,
		})
	}
	return append(rows, []string{},
		[]string{"sequences, tokens a step, memory: what the engine calls these limits; " +
			"decodesim show NAME has all of its arguments"}), nil
}

func listEfficiencies() ([][]string, error) {
	rows := [][]string{{"efficiency", "describes", "measured on"}}
	for _, name := range catalog.EfficiencyNames() {
		e, err := catalog.EfficienciesOf(name)
		if err != nil {
			return nil, err
		}
		gpus := []string{}
		for _, g := range e.Measured() {
			gpus = append(gpus, g.GPU)
		}
		rows = append(rows, []string{name, e.Describes, cmp.Or(strings.Join(gpus, " "), "–")})
	}
	return rows, nil
}

func listAcceptance() ([][]string, error) {
	rows := [][]string{{"acceptance", "model", "drafts by", "thinking", "1 draft", "3 drafts", "8 drafts", "measured on"}}
	for _, name := range catalog.AcceptanceNames() {
		a, err := catalog.AcceptanceOf(name)
		if err != nil {
			return nil, err
		}
		for _, c := range a.Curves {
			lengths, err := a.Lengths(c.Thinking)
			if err != nil {
				return nil, err
			}
			thinking := "yes"
			if !c.Thinking {
				thinking = "no"
			}
			row := []string{name, a.Model, a.Method, thinking}
			for _, k := range []int{1, 3, 8} {
				cell := "–"
				if k <= len(lengths) {
					cell = fmt.Sprintf("%.2f", lengths[k-1])
				}
				row = append(row, cell)
			}
			rows = append(rows, append(row, a.MeasuredOn+", "+a.Dataset))
		}
	}
	return append(rows, []string{},
			[]string{"tokens of a step, its own counted, as vLLM counts an acceptance length; TensorRT-LLM's is less by one"}),
		nil
}

func listPolicies() [][]string {
	rows := [][]string{{"policy", "role", "does"}}
	for _, name := range routers.Names() {
		rows = append(rows, []string{name, "router", routers.Does(name)})
	}
	for _, name := range routers.SplitterNames() {
		rows = append(rows, []string{name, "splitter", routers.SplitterDoes(name)})
	}
	for _, name := range routers.BalancerNames() {
		rows = append(rows, []string{name, "balancer", routers.BalancerDoes(name)})
	}
	for _, name := range schedulers.Names() {
		rows = append(rows, []string{name, "scheduler", schedulers.Does(name)})
	}
	for _, name := range catalog.QueueOrders() {
		rows = append(rows, []string{name, "queue order", schedulers.OrderDoes(name)})
	}
	return rows
}

// listQuestions lists files that begin with the question they answer.
func listQuestions(kind, folder string, names []string) ([][]string, error) {
	rows := [][]string{{kind, "asks"}}
	for _, name := range names {
		said, err := catalog.File(folder + "/" + name)
		if err != nil {
			return nil, err
		}
		question, _, _ := strings.Cut(string(said), "\n")
		rows = append(rows, []string{name, strings.TrimPrefix(question, "# ")})
	}
	return rows, nil
}
