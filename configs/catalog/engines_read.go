package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// readEngine reads the file of an engine. Its arguments and limits stand under the engine's own names; they are called
// what every engine calls them before they are decoded, and what is fixed is added to them.
func readEngine(file, name string, data []byte) (e EngineSpec, err error) {
	where := strict.NewPositions(file)
	root, err := strict.Parse(where, data)
	if err != nil {
		return e, err
	}
	names := map[string]string{}
	for _, pair := range strict.Pairs(strict.Child(root, "names")) {
		names[pair[0].Value] = pair[1].Value
	}
	arguments := strict.Child(root, "arguments")
	for _, table := range append([]*yaml.Node{arguments}, strict.List(strict.Child(root, "limits"))...) {
		if err := Rename(table, names); err != nil {
			return e, fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, pair := range strict.Pairs(arguments) {
		e.keys = append(e.keys, pair[0].Value)
	}
	if fixed := strict.Take(root, "fixed"); fixed != nil && arguments != nil {
		arguments.Content = append(arguments.Content, fixed.Content...)
	}
	if err := where.Fill(root, &e); err != nil {
		return e, err
	}
	if err := e.validate(name); err != nil {
		return e, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// Rename gives the keys of a mapping the names that every engine has for them. A key that has two names there has one
// of them only.
func Rename(table *yaml.Node, names map[string]string) error {
	for _, pair := range strict.Pairs(table) {
		for own, key := range names {
			if pair[0].Value == key {
				return fmt.Errorf("%s: expected the engine's own name, %s", key, own)
			}
		}
	}
	for _, pair := range strict.Pairs(table) {
		if key, ok := names[pair[0].Value]; ok {
			pair[0].Value = key
		}
	}
	return nil
}

// uniqueNames reports a name that means two things. A scenario may name a key as any engine does, so that an error can
// say which engine that is, and no name may depend on the engine.
func uniqueNames(all []EngineSpec) error {
	keys := strict.KeysOf(strict.FieldsOf(reflect.TypeFor[EngineArguments]()))
	of := map[string]string{}
	for i := range all {
		for own, key := range all[i].Names {
			switch is, taken := of[own]; {
			case slices.Contains(keys, own):
				return fmt.Errorf("configs: engine %s: names.%s: is a key of every pool", all[i].Name, own)
			case taken && is != key:
				return fmt.Errorf("configs: engine %s: names.%s: is %s; another engine calls %s so", all[i].Name, own, key, is)
			}
			of[own] = key
		}
	}
	return nil
}

func (e *EngineSpec) validate(name string) error {
	if e.Name != name {
		return fmt.Errorf("name: %q; expected the name of the file, %q", e.Name, name)
	}
	if e.Scheduler == "" || e.Describes == "" || e.Source == "" || len(e.Departures) == 0 {
		return errors.New("scheduler, describes, source and departures are required")
	}
	if !slices.Contains([]hardware.ShareOf{hardware.OfTotal, hardware.OfStatic, hardware.OfFree}, e.MemoryShare) {
		return fmt.Errorf("memory_share: %q is unknown; valid values: %q, %q, %q", e.MemoryShare, hardware.OfTotal,
			hardware.OfStatic,
			hardware.OfFree)
	}
	if e.Has("version") != (len(e.Versions) > 0) || e.Has("version") && !slices.Contains(e.Versions, e.Arguments.Version) {
		return fmt.Errorf("version: %q; expected one of versions, or neither key", e.Arguments.Version)
	}
	named := map[string]bool{}
	for own, key := range e.Names {
		if !e.Has(key) {
			return fmt.Errorf("names.%s: the engine has no argument %q", own, key)
		}
		if named[key] {
			return fmt.Errorf("names: %q goes by two names", key)
		}
		named[key] = true
	}
	for own := range e.Means {
		if !slices.Contains(e.OwnNames(), own) {
			return fmt.Errorf("means.%s: the engine has no such argument", own)
		}
	}
	if err := e.validateLimits(); err != nil {
		return err
	}
	if err := e.validateRules(); err != nil {
		return err
	}
	if err := e.CUDAGraphs.validate(e.Versions); err != nil {
		return err
	}
	if !slices.Contains(EfficiencyNames(), e.Efficiency) {
		return fmt.Errorf("efficiency: %w", strict.NotFound("efficiency", e.Efficiency, EfficiencyNames()))
	}
	return nil
}
