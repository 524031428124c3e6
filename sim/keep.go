package sim

import "slices"

// longOwed is what few requests may emit more than: a sum that clips what is owed at it, or higher, looks at those alone.
const longOwed = 4096

// kept is what an instance keeps count of only if its Scheduler asks for it, see Keeper.
type kept struct {
	keeps Counts

	fresh []int32 // who has joined the decode set since it last emitted
	late  bool    // some of its members emitted their latest token before that

	owed int64   // Σ tokens that the members of the decode set may still emit, by their limits
	long []int32 // those of them that owed more than longOwed when they joined

	ceiling int64 // Σ blocks of the running requests at their limits
}

// keepJoined counts the request in slot, which has joined the decode set.
func (in *Instance) keepJoined(slot int32) {
	if in.keeps&CountPauses != 0 {
		in.fresh = append(in.fresh, slot)
	}
	if in.keeps&CountRemaining != 0 {
		r := &in.slab[slot]
		owed := r.Limit() - r.Emitted
		in.owed += int64(owed)
		if owed > longOwed {
			in.long = append(in.long, slot)
		}
	}
}

// keepLeft takes the request in slot, which is still in the decode set, out of the counts.
func (in *Instance) keepLeft(slot int32) {
	r := &in.slab[slot]
	if in.isFresh(r) {
		in.fresh = without(in.fresh, slot)
	}
	if in.keeps&CountRemaining != 0 {
		_, emitted := in.progress(r)
		in.owed -= int64(r.Limit() - emitted)
		in.long = without(in.long, slot)
	}
}

func without(slots []int32, slot int32) []int32 {
	if i := slices.Index(slots, slot); i >= 0 {
		return slices.Delete(slots, i, i+1)
	}
	return slots
}

// keepEmitted counts a step, or several, with which the decode set emitted so many tokens.
func (in *Instance) keepEmitted(tokens int64) {
	if in.keeps&CountRemaining != 0 {
		in.owed -= tokens
	}
	in.late, in.fresh = false, in.fresh[:0]
}

// Owed returns Σ min(tokens that it may still emit, clip) over the sequences that decode. It takes KeepOwed.
func (in *Instance) RemainingTokens(clip int32) int64 {
	in.mustKeep(CountRemaining)
	if clip >= longOwed {
		sum := in.owed
		for _, slot := range in.long {
			r := &in.slab[slot]
			sum -= int64(max(0, r.Limit()-in.Emitted(r)-clip))
		}
		return sum
	}
	var sum int64
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if in.Decodes(r) {
			sum += int64(min(r.Limit()-in.Emitted(r), clip))
		}
	}
	return sum
}

// promise counts what r may take of the cache, with the sign of coming or going, if the Scheduler asks for it.
func (in *Instance) promise(r *Request, sign int64) {
	if in.keeps&CountCommitted != 0 {
		in.ceiling += sign * in.kv.Blocks(r.Prompt+r.Limit())
	}
}

func (in *Instance) mustKeep(k Counts) {
	if in.keeps&k == 0 {
		panic("sim: the scheduler asks for what its Keeps does not name")
	}
}
