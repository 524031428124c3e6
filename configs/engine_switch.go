package configs

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

// switchEngines puts every pool under another engine. What the pools say of theirs is carried over by its meaning; what
// the new one has no argument for, or means something else by, is left out and noted.
func (l *layers) switchEngines(to string) error {
	by := "engine " + to
	if err := (&origins{strict.NewPositions(by), nil}).known("", "engine", to, catalog.EngineNames()); err != nil {
		return err
	}
	engine, err := catalog.Engine(to)
	if err != nil {
		return err
	}
	for i := range l.skeleton.Pools {
		path := fmt.Sprintf("pools[%d]", i)
		from, err := catalog.Engine(l.engineAt(path))
		if err != nil {
			return l.origins.known(path+".engine", "engine", l.engineAt(path), catalog.EngineNames())
		}
		if from.Name == engine.Name {
			continue
		}
		block := l.blockSize(path, &from)
		l.arguments(path, func(key, at string) {
			name := l.origins.name(at)
			if reason := l.lost(key, at, &from, &engine); reason != "" {
				l.notes = append(l.notes,
					fmt.Sprintf("pools.%s.%s: %s is left out: %s", l.poolName(i), name, literalOf(l.topmost(at)), reason))
				l.forget(at)
				return
			}
			delete(l.origins.where.Names, at)
			if own := engine.Own(key); own != key {
				l.origins.where.Names[at] = own
			}
		})
		l.dropTiers(i, &engine)
		l.assign(l.set, path+".engine", engine.Name, by)
		l.carryBlocks(i, block, &from, &engine)
	}
	if engine.Scheduler == catalog.SchedulerStatic {
		l.dropSpeculation(&engine)
	}
	if !engine.Has("enable_lora") {
		l.dropAdapters(&engine)
	}
	return nil
}

// dropAdapters takes the LoRA adapters of requests away where the engine serves the model alone.
func (l *layers) dropAdapters(e *catalog.EngineSpec) {
	for _, section := range slices.Sorted(maps.Keys(l.sections)) {
		if !l.sections[section] || section != "workload.adapters" &&
			(!strings.HasPrefix(section, "workload.classes[") || !strings.HasSuffix(section, "].adapters")) {
			continue
		}
		l.notes = append(l.notes, fmt.Sprintf("%s: left out: engine %s serves the model alone", section, e.Name))
		l.forgetAll(section + ".")
		delete(l.sections, section)
	}
}

// dropTiers takes stores below host memory away from a pool that has lost its host memory.
func (l *layers) dropTiers(pool int, e *catalog.EngineSpec) {
	path := fmt.Sprintf("pools[%d]", pool)
	section := path + ".kv_tiers"
	if !l.sections[section] || l.topmost(path+".kv_offloading_size") != nil {
		return
	}
	l.notes = append(l.notes, fmt.Sprintf("pools.%s.kv_tiers: left out: there is no host memory above it under engine %s",
		l.poolName(pool), e.Name))
	l.forgetAll(section + ".")
	for at := range l.sections {
		if at == section || strings.HasPrefix(at, section+".") {
			delete(l.sections, at)
		}
	}
}

// dropSpeculation takes drafts away from an engine whose rows stay in lock step.
func (l *layers) dropSpeculation(e *catalog.EngineSpec) {
	method := l.topmost("speculation.method")
	if method == nil || method == "none" {
		return
	}
	l.notes = append(l.notes,
		fmt.Sprintf("speculation.method: %s is left out: engine %s computes a static batch in lock step", literalOf(method),
			e.Name))
	l.forgetAll("speculation.")
	l.forget("speculation.acceptance") // as a section
	delete(l.sections, "speculation.acceptance")
}

// blockSize returns the tokens of a block of the pool at path under the engine.
func (l *layers) blockSize(path string, e *catalog.EngineSpec) int64 {
	if size, ok := l.topmost(path + ".block_size").(int); ok {
		return int64(size)
	}
	return int64(e.Arguments.BlockSize)
}

// carryBlocks keeps the tokens of a pool's cache where blocks, which had so many tokens, have another size now:
//
//	blocks = ⌊old blocks · old size / new size⌋
//
// What is out of range is left as it is, to be refused.
func (l *layers) carryBlocks(pool int, old int64, from, to *catalog.EngineSpec) {
	path := fmt.Sprintf("pools[%d]", pool)
	at, size := path+".num_gpu_blocks", l.blockSize(path, to)
	blocks, ok := l.topmost(at).(int64)
	if !ok || size == old || min(blocks, old, size) < 1 || max(blocks, old, size) > math.MaxInt32 {
		return
	}
	n, key := blocks*old/size, fmt.Sprintf("pools.%s.num_gpu_blocks", l.poolName(pool))
	l.assign(l.set, at, n, fmt.Sprintf("engine %s: %s", to.Name, key))
	l.notes = append(l.notes, fmt.Sprintf("%s: %d is carried over as %d: blocks of %s have %d tokens, those of %s %d",
		key, blocks, n, from.Name, old, to.Name, size))
}

// lost says why the value of a key has no place under another engine; "": it has.
func (l *layers) lost(key, at string, from, to *catalog.EngineSpec) string {
	value := l.topmost(at)
	switch {
	case !to.Has(key):
		return fmt.Sprintf("engine %s has no such argument", to.Name)
	case key == "gpu_memory_utilization" && from.MemoryShare != to.MemoryShare, key == "kv_offloading_size" &&
		from.OffloadingPerGPU != to.OffloadingPerGPU:
		return fmt.Sprintf("%s of %s is that of something else", to.Own(key), to.Name)
	case key == "queue_order" && !contains(to.Orders(), value):
		return fmt.Sprintf("engine %s has no such order", to.Name)
	case key == "max_num_batched_tokens" && l.wholePrompts(at, from) != l.wholePrompts(at, to):
		return fmt.Sprintf("of %s and %s only one runs prompts whole, for which it is the longest of them", from.Name,
			to.Name)
	}
	return ""
}

// wholePrompts reports whether the pool of the key at path would run prompts whole under the engine.
func (l *layers) wholePrompts(path string, e *catalog.EngineSpec) bool {
	if chunked, ok := l.topmost(strict.Join(strict.Parent(path), "enable_chunked_prefill")).(bool); ok &&
		e.Has("enable_chunked_prefill") {
		return !chunked
	}
	size, ok := l.topmost(path).(int)
	return !e.Arguments.EnableChunkedPrefill || e.Scheduler == catalog.SchedulerSGLang && ok && size < 0
}

// topmost returns the value that the layers have at path; nil: none.
func (l *layers) topmost(path string) any {
	for _, layer := range []map[string]any{l.set, l.env, l.file} {
		if value, ok := layer[path]; ok {
			return value
		}
	}
	return nil
}

// forget takes the value at path away from every layer.
func (l *layers) forget(path string) {
	for _, layer := range []map[string]any{l.set, l.env, l.file} {
		delete(layer, path)
	}
	delete(l.origins.where.At, path)
	delete(l.origins.where.Names, path)
	delete(l.origins.assigned, path)
}

// forgetAll takes all values away whose paths begin so.
func (l *layers) forgetAll(prefix string) {
	for _, layer := range []map[string]any{l.set, l.env, l.file} {
		for _, path := range slices.Sorted(maps.Keys(layer)) {
			if strings.HasPrefix(path, prefix) {
				l.forget(path)
			}
		}
	}
}

func contains(names []string, value any) bool {
	for _, name := range names {
		if name == value {
			return true
		}
	}
	return false
}

// literalOf writes a value as the resolved scenario has it.
func literalOf(value any) string { return literal(reflect.ValueOf(value)) }

// Notes says what Load left out of the scenario because its pools were put under another engine; see Options.Engine.
func (s *Scenario) Notes() []string { return s.notes }
