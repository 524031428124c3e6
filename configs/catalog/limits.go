package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

// EngineLimit is what an engine takes on some GPUs. 0: the same as on any.
type EngineLimit struct {
	Since                strict.Release `yaml:"since"` // only from this release on; empty: in all
	MemoryBytesMin       float64        `yaml:"memory_bytes_min"`
	GPU                  string         `yaml:"gpu"`    // only for GPUs whose name starts so; empty: for all
	Except               string         `yaml:"except"` // not for GPUs whose name starts so; empty: for all
	MaxNumSeqs           int            `yaml:"max_num_seqs"`
	MaxNumBatchedTokens  int            `yaml:"max_num_batched_tokens"`
	GPUMemoryUtilization float64        `yaml:"gpu_memory_utilization"`
	// sequences of the largest CUDA graph of decodes, on fewer than four GPUs and on more; 0: see CUDAGraphs
	GraphSequences     int `yaml:"graph_sequences"`
	GraphSequencesFour int `yaml:"graph_sequences_four_gpus"`
}

// SpecialDefaults are what an engine takes by itself for some deployments. The zero value is none.
type SpecialDefaults struct {
	LowLatencyTokens      int     `yaml:"low_latency_tokens"`     // of a step whose experts are behind low-latency kernels
	SpeculatingSequences  int     `yaml:"speculating_sequences"`  // of all ranks, if anything drafts
	RanksConservativeness float64 `yaml:"ranks_conservativeness"` // on schedule_conservativeness, with several ranks
	DecodesUncached       bool    `yaml:"decodes_uncached"`       // enable_prefix_caching is off in pools of role decode
	ReservedDecodeTokens  int     `yaml:"reserved_decode_tokens"` // kept free for each request of a pool of role decode
	// caches that may come to a pool of role decode beside max_num_seqs, as a multiple of that; none where it is more
	// than extra_decode_slots_up_to
	ExtraDecodeSlots     int                `yaml:"extra_decode_slots"`
	ExtraDecodeSlotsUpTo int                `yaml:"extra_decode_slots_up_to"`
	Synchronous          []SynchronousDraft `yaml:"synchronous_speculation"` // where async_scheduling is off
}

// SynchronousDraft is a release that turns asynchronous scheduling off under some methods of speculation.
type SynchronousDraft struct {
	Version strict.Release `yaml:"version"`
	Methods []string       `yaml:"methods"`
}

// IsSynchronous reports whether the release turns asynchronous scheduling off under the method.
func (s *SpecialDefaults) IsSynchronous(v strict.Release, method string) bool {
	for _, row := range s.Synchronous {
		if row.Version == v && slices.Contains(row.Methods, method) {
			return true
		}
	}
	return false
}

// On says on which GPUs the row holds.
func (l *EngineLimit) On() string {
	const gib = 1 << 30
	switch {
	case l.GPU != "":
		return "on " + l.GPU
	case l.MemoryBytesMin > 0:
		return fmt.Sprintf("on GPUs of %g GiB and more", l.MemoryBytesMin/gib)
	}
	return ""
}

// In returns the row as it is in a performance mode.
func (l EngineLimit) In(mode string) EngineLimit {
	if mode == ModeThroughput {
		l.MaxNumSeqs *= 2
		l.MaxNumBatchedTokens *= 2
	}
	return l
}

// LargestGraph returns the sequences of the largest CUDA graph of decodes of a replica on so many GPUs.
func (l *EngineLimit) LargestGraph(gpus int) int {
	if gpus >= 4 {
		return l.GraphSequencesFour
	}
	return l.GraphSequences
}

// fitsEvery reports whether the row is one for any GPU and release.
func (l *EngineLimit) fitsEvery() bool {
	return l.Since == "" && l.MemoryBytesMin == 0 && l.GPU == "" && l.Except == ""
}

func (l *EngineLimit) fits(gpu string, memoryBytes float64) bool {
	return memoryBytes >= l.MemoryBytesMin && strings.HasPrefix(gpu, l.GPU) &&
		(l.Except == "" || !strings.HasPrefix(gpu, l.Except))
}

// since reports whether release v of the engine is the other one or a later one; empty: every release is.
func (e *EngineSpec) since(v, other strict.Release) bool {
	return other == "" || slices.Index(e.Versions, v) >= slices.Index(e.Versions, other)
}

// Known returns the release whose rules stand for a version such as 0.30.1: the newest that is no newer, or the oldest
// there is.
func (e *EngineSpec) Known(version string) (known strict.Release) {
	for i, v := range e.Versions {
		if i == 0 || slices.Compare(numbers(string(v)), numbers(version)) <= 0 {
			known = v
		}
	}
	return known
}

// ReleaseOf returns which of some releases, the oldest first, stands for a version: the newest that is no newer, or
// else the oldest; of a version without a number, the newest of all.
func ReleaseOf(releases []strict.Release, version string) (known strict.Release) {
	for i, r := range releases {
		if i == 0 || len(numbers(version)) == 0 || CompareReleases(r, strict.Release(version)) <= 0 {
			known = r
		}
	}
	return known
}

// CompareReleases orders releases, the older first.
func CompareReleases(a, b strict.Release) int {
	return slices.Compare(numbers(string(a)), numbers(string(b)))
}

// releaseMark is between the name of efficiencies and the release that they are of.
const releaseMark = "@"

// Unreleased is the name of efficiencies without the release that it may state.
func Unreleased(name string) string {
	name, _, _ = strings.Cut(name, releaseMark)
	return name
}

// Released is the name of efficiencies with a version's number, if it has one.
func Released(name, version string) string {
	var parts []string
	for _, n := range numbers(version) {
		parts = append(parts, strconv.Itoa(n))
	}
	if parts == nil {
		return name
	}
	return name + releaseMark + strings.Join(parts, ".")
}

// numbers returns the numbers at the beginning of a version.
func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

// Limit returns the defaults of a release of the engine on a GPU.
func (e *EngineSpec) Limit(v strict.Release, gpu string, memoryBytes float64) EngineLimit {
	usual := EngineLimit{
		MaxNumSeqs: e.Arguments.MaxNumSeqs, MaxNumBatchedTokens: e.Arguments.MaxNumBatchedTokens,
		GPUMemoryUtilization: e.Arguments.GPUMemoryUtilization,
	}
	for _, l := range e.Limits {
		if !l.fits(gpu, memoryBytes) || !e.since(v, l.Since) {
			continue
		}
		if l.MaxNumSeqs == 0 {
			l.MaxNumSeqs = usual.MaxNumSeqs
		}
		if l.MaxNumBatchedTokens == 0 {
			l.MaxNumBatchedTokens = usual.MaxNumBatchedTokens
		}
		if l.GPUMemoryUtilization == 0 {
			l.GPUMemoryUtilization = usual.GPUMemoryUtilization
		}
		return l
	}
	return usual
}

// validateLimits refuses limits that leave some GPU without one. That the values themselves are possible, every load
// of a scenario checks.
func (e *EngineSpec) validateLimits() error {
	n := len(e.Limits)
	if n > 0 && !e.Limits[n-1].fitsEvery() {
		return fmt.Errorf("limits: the last row must fit every GPU: memory_bytes_min: 0, without gpu, except and since")
	}
	for i := range max(1, n) {
		row := EngineLimit{}
		if n > 0 {
			row = e.Limits[i]
		}
		if row.Since != "" && !slices.Contains(e.Versions, row.Since) {
			return fmt.Errorf("limits[%d].since: %q; expected one of versions", i, row.Since)
		}
		l := e.Limit(e.Arguments.Version, row.GPU, row.MemoryBytesMin)
		if l.MaxNumSeqs < 1 || l.MaxNumBatchedTokens < 1 && e.WholePrompts < 1 ||
			e.Reserve == (StaticReserve{}) && !(l.GPUMemoryUtilization > 0 && l.GPUMemoryUtilization <= 1) {
			return fmt.Errorf(
				"limits[%d]: %+v; expected max_num_seqs ≥ 1, max_num_batched_tokens ≥ 1 and gpu_memory_utilization in (0, 1], "+
					"here or among the arguments", i, l)
		}
	}
	return nil
}
