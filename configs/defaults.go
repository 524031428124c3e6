package configs

import (
	"fmt"
	"reflect"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/spf13/viper"
)

// defaultPool is a pool of which a scenario names only the GPU; the engine adds its own defaults.
func defaultPool() Pool {
	return Pool{
		Name: "serve", Role: "serve", Replicas: 1,
		TensorParallel: 1, PipelineParallel: 1, DataParallel: 1,
		Engine: "vllm-v1", KVTiers: defaultTiers(),
	}
}

// defaultScenario returns what every scenario is made of unless some layer says otherwise.
func defaultScenario(name string, pools []Pool) *Scenario {
	return &Scenario{
		Name:        name,
		Pools:       pools,
		Router:      "least-loaded",
		Speculation: Speculation{Method: NoSpeculation, Acceptance: &Acceptance{Process: "iid"}},
		Decoding:    Decoding{Sampling: "greedy"},
		Noise:       defaultNoise(),
		Workload:    Workload{Trace: &Trace{Speed: 1}, Agents: &Agents{SubAgents: &SubAgents{Context: contextFresh}}},
		Stream:      defaultStream(),
		Seed:        1,
		Output:      Output{RequestsCSV: Auto, Attribution: true, Intervals: true, OverTime: true},
	}
}

// defaultPoolOf returns the default pool under the engine.
func defaultPoolOf(e *catalog.EngineSpec) Pool {
	p := defaultPool()
	p.Engine, p.EngineArguments = e.Name, e.Arguments
	return p
}

// scenario returns the topmost value of every key.
func (l *layers) scenario() (*Scenario, error) {
	v, err := l.stack()
	if err != nil {
		return nil, err
	}
	s := l.skeleton
	pools, err := l.defaultPools()
	if err != nil {
		return nil, err
	}
	defaults := defaultScenario(s.Name, pools)
	defaults.defaultFleet(s)
	setDefaults(v, defaults)
	var absent []reflect.Value
	walk(reflect.ValueOf(s).Elem(), "", func(path string, _ strict.Field, value reflect.Value) {
		switch {
		case isSection(value) && !l.sections[path]:
			absent = append(absent, value)
		case isSection(value):
		case v.IsSet(path):
			value.Set(reflect.ValueOf(v.Get(path)))
		default:
			value.SetZero()
		}
	})
	for _, section := range absent {
		section.SetZero()
	}
	s.origins, s.notes = l.origins, l.notes
	if err := l.applySplit(s); err != nil {
		return nil, err
	}
	if err := s.resolveNames(); err != nil {
		return nil, err
	}
	return s, s.fillEngines()
}

// stack puts the layers above the defaults into viper. The environment is merged over the file, which viper keeps
// below what Set sets; it does not read the environment itself, for its own way lists no unknown variables.
func (l *layers) stack() (*viper.Viper, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	for _, layer := range []map[string]any{l.file, l.env} {
		if err := v.MergeConfigMap(layer); err != nil {
			return nil, fmt.Errorf("configs: %w", err)
		}
	}
	for path, value := range l.set {
		v.Set(path, value)
	}
	return v, nil
}

// defaultPools returns the defaults of each pool, which depend on its engine.
func (l *layers) defaultPools() ([]Pool, error) {
	pools := make([]Pool, len(l.skeleton.Pools))
	for i := range pools {
		path := fmt.Sprintf("pools[%d]", i)
		name := l.engineAt(path)
		if err := l.origins.known(path+".engine", "engine", name, catalog.EngineNames()); err != nil {
			return nil, err
		}
		engine, err := catalog.Engine(name)
		if err != nil {
			return nil, err
		}
		if err := l.fitEngine(path, &engine); err != nil {
			return nil, err
		}
		pools[i] = defaultPoolOf(&engine)
		pools[i].Name = l.poolName(i)
		pools[i].Role, _ = l.topmost(path + ".role").(string)
		if pools[i].Role == "" {
			pools[i].Role = RoleServe
		}
		pools[i].fillRole()
		pools[i].KVLinkBps = 0
		if link, named := l.topmost(path + ".kv_link").(string); named && pools[i].sends() {
			pools[i].KVLink = link
			pools[i].fillLink()
		}
		if l.topmost(path+".kv_link_bps") != nil && pools[i].sends() {
			pools[i].KVLink = ""
			pools[i].fillLink()
		}
	}
	return pools, nil
}

func setDefaults(v *viper.Viper, s *Scenario) {
	walk(reflect.ValueOf(s).Elem(), "", func(path string, _ strict.Field, value reflect.Value) {
		if !isSection(value) && !value.IsZero() {
			v.SetDefault(path, value.Interface())
		}
	})
}

// known refuses a name that a catalog does not have.
func (o *origins) known(path, kind, name string, have []string) error {
	for _, n := range have {
		if n == name {
			return nil
		}
	}
	return o.errorf(path, "%s", strict.UnknownName(kind, name, have))
}
