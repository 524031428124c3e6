package catalog

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/strict"
)

// Rules are by what a release of an engine schedules, where its arguments leave no choice. The zero value is none.
type Rules struct {
	Version strict.Release `yaml:"version"` // that they are of
	// steps composed before the result of the first is known, with async_scheduling; 0: one
	BatchQueue int `yaml:"batch_queue"`
	// long_prefill_token_threshold does not bind a request that is alone
	SingleExempt bool `yaml:"single_exempt"`
	// a running request that preempts itself ends the step for those behind it, under an order of the queue
	StopsAtSelf bool `yaml:"stops_at_self"`
	// caches come as vLLM's KV connectors load them
	ConnectorLoads bool `yaml:"connector_loads"`
	// which leave blocks for what prompts that are computed still lack
	LoadsReserve bool `yaml:"loads_reserve"`
	// nor is anything freed that a step under way may write
	DefersFrees bool `yaml:"defers_frees"`
	// the queue of a pipeline's microbatches is filled up with some of nothing
	FillsQueue bool `yaml:"fills_queue"`
	// blocks that no request can ask for are evicted before all others
	UnnamedFirst bool `yaml:"unnamed_first"`
	// blocks that sliding windows have passed are freed as a request gets its next ones
	WindowsPass bool `yaml:"windows_pass"`
	// as of the tokens whose result is known, if batches are queued
	WindowsLag bool `yaml:"windows_lag"`
	// drafts go beyond what a client may get
	DraftsUncapped bool `yaml:"drafts_uncapped"`
	// methods of speculation for whose drafts sequences have blocks beyond those of a step
	LookAhead []string `yaml:"look_ahead"`
	// but not for the first chunk after an admission
	DelayedLookAhead bool `yaml:"delayed_look_ahead"`
	// methods whose drafter takes a token of max_num_batched_tokens for each request of a step
	DraftSlots []string `yaml:"draft_slots"`
	// it takes them for max_num_seqs requests, however many there are
	DraftSlotsReserved bool `yaml:"draft_slots_reserved"`
	// methods whose drafter has a layer that reads the next token: it computes the last of the blocks that are found again
	DropsLast []string `yaml:"drops_last"`
	// or a block is found only if the token after it is the same, too; not where a cache is transferred or offloaded
	HashedAhead []string `yaml:"hashed_ahead"`
	// a block that accepted drafts have filled can be found again only from the next step on
	DelayedNames bool `yaml:"delayed_names"`
	// a client picks the data-parallel rank by requests that wait, not by its own
	RanksByWaiting bool `yaml:"ranks_by_waiting"`
	// each data-parallel rank has an API server, and so a tokenizer; false: all of a replica have one
	RankTokenizers bool `yaml:"rank_tokenizers"`
	// a request that is admitted with one token to compute gets wrong drafts beside it
	Fills bool `yaml:"fills"`
}

// RulesOf returns the rules of a release of e.
func (e *EngineSpec) RulesOf(v strict.Release) Rules {
	for _, r := range e.Rules {
		if r.Version == v {
			return r
		}
	}
	return Rules{}
}

// WindowBatches returns how many steps of e may have tokens of one sequence under way, as far as blocks of sliding
// windows are concerned; 0: a sequence has as many of these at all times.
func (e *EngineSpec) WindowBatches(v strict.Release, async bool, stages int) int {
	switch r := e.RulesOf(v); {
	case !r.WindowsPass:
		return 0
	case !r.WindowsLag:
		return 1
	case stages > 1 && async && r.FillsQueue: // it queues one more than it has stages
		return stages + 1
	case stages > 1:
		return stages
	case async:
		return max(1, r.BatchQueue)
	}
	return 1
}

// validateRules refuses rules of releases that e does not know, and releases without any.
func (e *EngineSpec) validateRules() error {
	if len(e.Rules) == 0 {
		return nil
	}
	if len(e.Rules) != max(1, len(e.Versions)) {
		return fmt.Errorf("rules: %d rows; expected one for each of versions", len(e.Rules))
	}
	for i, r := range e.Rules {
		if len(e.Versions) > 0 && r.Version != e.Versions[i] {
			return fmt.Errorf("rules[%d].version: %q; expected %q, as in versions", i, r.Version, e.Versions[i])
		}
		if r.BatchQueue < 0 || r.BatchQueue > 2 {
			return fmt.Errorf("rules[%d].batch_queue: %d; expected 0, 1 or 2", i, r.BatchQueue)
		}
	}
	return nil
}
