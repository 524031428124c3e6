package commands

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/text"
)

// Command starts one replica of a pool.
type Command struct {
	Pool     string
	GPU      string
	GPUs     int      // of the replica
	Replicas int      // of the pool, each of which is started so
	Words    []string // as a shell splits them; nil: no server schedules so
	Settings []string // lines of a YAML file that trtllm-serve reads; nil: there is no such file
	Remarks  []string // what the scenario asks for and the command does not say
}

// Of returns the commands of a scenario's pools in their order.
func Of(s *configs.Scenario) ([]Command, error) {
	var all []Command
	for i := range s.Pools {
		c, err := ofPool(s, &s.Pools[i])
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Lines returns the commands of a scenario as the lines of a shell script, each under a comment that names its pool.
func Lines(s *configs.Scenario) ([]string, error) {
	all, err := Of(s)
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := range all {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, all[i].Lines()...)
	}
	return lines, nil
}

// Lines returns the command as lines of a shell script: what it is for and what it does not say as comments, then the
// command with a flag on each line.
func (c *Command) Lines() []string {
	lines := []string{fmt.Sprintf("# pool %s: %s of %d × %s", c.Pool, text.Counted(c.Replicas, "replica"), c.GPUs, c.GPU)}
	for _, r := range c.Remarks {
		lines = append(lines, "# "+r)
	}
	if c.Settings != nil {
		lines = append(lines, "cat > "+c.settingsFile()+" <<'EOF'")
		lines = append(append(lines, c.Settings...), "EOF")
	}
	var said []string
	for _, w := range c.Words {
		quoted := quote(w)
		if isFlag := strings.HasPrefix(w, "--"); isFlag && len(said) > 0 {
			lines = append(lines, strings.Join(said, " ")+` \`)
			said = []string{"  " + quoted}
		} else {
			said = append(said, quoted)
		}
	}
	if len(said) > 0 {
		lines = append(lines, strings.Join(said, " "))
	}
	return lines
}

func (c *Command) settingsFile() string { return c.Pool + ".yaml" }

// plain matches words that a shell leaves alone.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ofPool writes the command of a pool in the words of its engine.
func ofPool(s *configs.Scenario, p *configs.Pool) (Command, error) {
	w := &writer{s: s, p: p, command: Command{Pool: p.Name, GPU: p.GPU.Name(), GPUs: p.GPUs(), Replicas: p.Replicas}}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return w.command, err
	}
	w.engine = &engine
	ref := s.Model
	if p.Model != "" {
		ref = configs.ModelRef{Config: p.Model}
	}
	r, err := ref.Read()
	w.model = r.Model
	if err != nil {
		return w.command, err
	}
	w.checkpoint = w.checkpointOf(ref.Config, &w.model)
	for _, change := range ref.Changes() {
		w.cannot("the model was simulated with changes: %s", change)
	}
	if !w.served() {
		return w.command, nil
	}
	if w.model.RecurrentBytes() > 0 && !s.Given(s.PoolPath(p, "enable_prefix_caching")) { // as engines do
		stateful := *p
		stateful.EnablePrefixCaching = false
		w.p = &stateful
	}
	if p.KVTiers != nil {
		w.cannot("kv_tiers: how stores below host memory are set up is not written")
	}
	switch p.Engine {
	case "vllm-v1", "vllm-v0":
		w.vllm(p.Engine == "vllm-v0")
	case "sglang":
		w.sglang()
	case "tensorrt-llm":
		w.tensorRTLLM()
	default:
		w.cannot("engine %s stands for a policy: no server has its rules", p.Engine)
		return w.command, nil
	}
	w.unsaid()
	return w.command, nil
}

// served reports whether the pool's engine runs on its machine, and remarks what one that is no GPU needs.
func (w *writer) served() bool {
	gpu, _, err := w.p.GPU.Hardware()
	if err != nil {
		return true // the scenario need not be built
	}
	switch gpu.Kind {
	case hardware.LPU, hardware.Wafer, hardware.Maia, hardware.Apple:
		w.cannot("%s is of kind %s, on which no server of %s runs: its rules stand for those of its maker's", w.p.GPU,
			gpu.Kind, w.p.Engine)
		return false
	case hardware.TPU, hardware.Trainium, hardware.Gaudi:
		w.cannot("%s is of kind %s: the engine runs there by its maker's plugin or fork, whose arguments may differ", w.p.GPU,
			gpu.Kind)
	}
	return true
}

// checkpointOf names a model as a server finds it: the repository, or the directory of its config.json.
func (w *writer) checkpointOf(name string, m *llm.Model) string {
	switch {
	case m.Repository != "":
		return m.Repository
	case strings.HasSuffix(name, "/config.json"):
		return strings.TrimSuffix(name, "/config.json")
	}
	whose := "the catalogue's name"
	if catalog.IsModelPath(name) {
		whose = "the file of the shape"
	}
	w.cannot("%s is %s: put the repository or the path of your checkpoint in its place", name, whose)
	return name
}
