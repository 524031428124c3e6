package explore

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

func engine() control {
	return control{key: "engine", label: "Engine", group: groupMachine, choice: true, values: catalog.EngineNames(),
		paths: []string{"engine", "scheduler", "mem_fraction_static", "kv_tiers", "all_to_all"},
		of:    func(s *configs.Scenario) string { return s.Pools[0].Engine },
		edit:  switchEngine}
}

// switchEngine puts every pool under an engine. What a pool says of its own is carried over by the name that the new
// one has for it, and what has no place there is left out, as the head of the text says.
func switchEngine(t *tree, b *base, v string) error {
	to, err := catalog.Engine(v)
	if err != nil {
		return err
	}
	for i, pool := range t.pools() {
		from, err := catalog.Engine(b.scenario.Pools[min(i, len(b.scenario.Pools)-1)].Engine)
		if err != nil {
			return err
		}
		if from.Name != to.Name {
			t.carry(pool, &from, &to)
		}
		if err := set(pool, "engine", to.Name); err != nil {
			return err
		}
	}
	return nil
}

// carry renames the arguments of an engine to those of another.
func (t *tree) carry(pool *yaml.Node, from, to *catalog.EngineSpec) {
	var without []string
	for i := 0; i+1 < len(pool.Content); i += 2 {
		name := pool.Content[i]
		key := cmp.Or(from.Names[name.Value], name.Value)
		switch {
		case !from.Has(key) && key != "version":
		case key == "version" || !to.Has(key) || key == "queue_order" ||
			key == "gpu_memory_utilization" && from.MemoryShare != to.MemoryShare:
			without = append(without, name.Value)
		default:
			name.Value = to.Own(key)
		}
	}
	for _, name := range without {
		line := "left out, as " + to.Name + " has no such argument or another meaning of it: " + name
		if !slices.Contains(t.notes, line) {
			t.notes = append(t.notes, line)
		}
	}
	unset(pool, without...)
}

// head is what is said above a changed scenario.
func (t *tree) head(of string, changed []string) string {
	first := "As decodesim explore has it, from " + of + " with " + strings.Join(changed, " ")
	lines := append([]string{first}, t.notes...)
	return "# " + strings.Join(lines, "\n# ") + "\n"
}
