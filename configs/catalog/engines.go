package catalog

import (
	"reflect"
	"slices"
	"sync"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/schedulers"
)

// EngineSpec is a serving engine: the scheduler that stands for it, the arguments it has under its own names, what it
// takes for those left out, and what it is assumed to achieve of a GPU.
type EngineSpec struct {
	Name       string            `yaml:"name"`
	Scheduler  string            `yaml:"scheduler"` // its name in policies
	Describes  string            `yaml:"describes"` // which version of which engine
	Source     string            `yaml:"source"`
	Versions   []strict.Release  `yaml:"versions"`  // releases whose rules it knows, the oldest first; empty: one
	Names      map[string]string `yaml:"names"`     // its own name of an argument → the key of every engine
	Arguments  EngineArguments   `yaml:"arguments"` // defaults; in its file under its own names
	Means      map[string]string `yaml:"means"`     // its own name → what it means, where that is not what the key says
	Limits     []EngineLimit     `yaml:"limits"`    // defaults by GPU, the first row that fits; empty: those of Arguments
	Special    SpecialDefaults   `yaml:"special"`
	Rules      []Rules           `yaml:"rules"` // by release, in the order of Versions; empty: none
	Reserve    StaticReserve     `yaml:"static_reserve"`
	NewTokens  NewTokens         `yaml:"new_tokens"`
	CUDAGraphs CUDAGraphs        `yaml:"cuda_graphs"` // absent: no step is padded
	Efficiency string            `yaml:"efficiency"`  // name of the efficiencies that price its steps
	Departures []string          `yaml:"departures"`  // what is not as in the engine described

	MemoryShare    hardware.ShareOf `yaml:"memory_share"`   // what its share of the memory is a share of
	BlocksReserved int64            `yaml:"kv_blocks_kept"` // KV blocks of a rank that no sequence can have
	// where prompts run whole, a step takes max_model_len and at least so many tokens; 0: its usual limit
	WholePrompts int `yaml:"whole_prompt_tokens_min"`
	// a step that nobody gives a length has no more tokens than max_num_seqs sequences of max_model_len
	TokensOfSequences bool `yaml:"tokens_of_sequences"`

	OffloadingPerGPU bool `yaml:"kv_offloading_per_gpu"` // kv_offloading_size is that of each GPU, not of a replica

	// with async_scheduling a step has the requests that came before it began, and only the host's time is hidden
	OnlyHidesHost bool `yaml:"only_hides_host"`

	keys []string // the arguments that it has, in the order of its file, by the keys of every engine
}

// NewTokens is what SGLang expects running requests to emit yet: a ratio of their maximum. The zero value is another
// engine's, which expects nothing.
type NewTokens struct {
	Init               float64 `yaml:"init"`       // ratio at first, times schedule_conservativeness
	MinFactor          float64 `yaml:"min_factor"` // the least ratio, as a part of that
	DecaySteps         int64   `yaml:"decay_steps"`
	ClipMax            int32   `yaml:"clip_max"` // tokens; no request counts more
	RetractDecodeSteps int32   `yaml:"retract_decode_steps"`
}

// EngineNames returns the engines built in.
func EngineNames() []string { return Names("engines") }

// Engine returns the engine of that name, which must not be modified.
func Engine(name string) (EngineSpec, error) {
	all := Engines()
	for i := range all {
		if all[i].Name == name {
			return all[i], nil
		}
	}
	return EngineSpec{}, strict.NotFound("engine", name, EngineNames())
}

// Engines returns every engine built in, which must not be modified.
func Engines() []EngineSpec { return engines() }

// engines reads the files once, for every load of a scenario asks for the engines' names of its keys. An embedded file
// that cannot be read is a broken build.
var engines = sync.OnceValue(func() []EngineSpec {
	var all []EngineSpec
	for _, name := range EngineNames() {
		file, data, _ := Lookup("engines", name)
		e, err := readEngine(file, name, data)
		if err != nil {
			panic("catalog: " + err.Error())
		}
		all = append(all, e)
	}
	if err := uniqueNames(all); err != nil {
		panic("catalog: " + err.Error())
	}
	return all
})

// VersionNames returns the releases whose rules e knows, the oldest first.
func (e *EngineSpec) VersionNames() []string {
	names := make([]string, len(e.Versions))
	for i, v := range e.Versions {
		names[i] = string(v)
	}
	return names
}

// Keys returns the arguments that e has, by the keys of every engine, in the order of its file.
func (e *EngineSpec) Keys() []string { return slices.Clone(e.keys) }

// Own returns the engine's own name of a key that every engine calls the same.
func (e *EngineSpec) Own(key string) string {
	for own, is := range e.Names {
		if is == key {
			return own
		}
	}
	return key
}

// OwnNames returns the arguments that e has, under its own names, in the order of its file.
func (e *EngineSpec) OwnNames() []string {
	names := e.Keys()
	for i, key := range names {
		names[i] = e.Own(key)
	}
	return names
}

// Has reports whether e has the argument.
func (e *EngineSpec) Has(key string) bool { return slices.Contains(e.keys, key) }

// Doc says what the argument means to the engine.
func (e *EngineSpec) Doc(key string) string {
	if doc, ok := e.Means[e.Own(key)]; ok {
		return doc
	}
	t := reflect.TypeFor[EngineArguments]()
	f, _ := strict.FieldNamed(strict.FieldsOf(t), key)
	return t.FieldByIndex(f.Index).Tag.Get("doc")
}

// Orders returns the orders of the queue that e can be given.
func (e *EngineSpec) Orders() []string {
	if e.Scheduler == SchedulerSGLang {
		return QueueOrders()
	}
	return schedulers.OrderNames()
}

// Divides reports whether the engine, with such a reserve, can compute a part of a request.
func (e *EngineSpec) Divides(reserve string) bool {
	return e.Scheduler != SchedulerStatic && reserve != ReserveMaxTokens && reserve != ReserveMaxModelLen
}

// Dividing returns the engines that can, as they are by default.
func Dividing() []string {
	all := Engines()
	var names []string
	for i := range all {
		if all[i].Divides(all[i].Arguments.Reserve) {
			names = append(names, all[i].Name)
		}
	}
	return slices.Clip(names)
}

// EnginesWith returns the engines that have an argument of that name.
func EnginesWith(name string) []string {
	all := Engines()
	var with []string
	for i := range all {
		if slices.Contains(all[i].OwnNames(), name) {
			with = append(with, all[i].Name)
		}
	}
	return with
}

// IsArgument tells the keys of a pool that belong to its engine from those that every pool has.
func IsArgument(key string) bool {
	_, ok := strict.FieldNamed(strict.FieldsOf(reflect.TypeFor[EngineArguments]()), key)
	return ok
}
