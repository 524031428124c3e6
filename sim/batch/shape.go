package batch

import "github.com/decodesim/decodesim/sim/clock"

// Shape is all a cost model may know of a rank's batch in one step: sums, kept incrementally, and the longest chunk.
// Pricing visits no sequence.
type Shape struct {
	Decodes        int   // sequences that decode
	DecodeTokens   int64 // Σ tokens they compute: one each, plus drafts
	Drafts         int64 // Σ drafted tokens among them; 0: no speculation in this step
	DecodeCtx      int64 // Σ tokens they attend to, the new one included
	Prefills       int   // prompt chunks
	PrefillTokens  int64 // Σ prompt tokens
	PrefillPairs   int64 // Σ query–key pairs: t·c + t(t+1)/2 for a chunk of t tokens after c computed ones
	PrefillCtx     int64 // Σ tokens the chunks attend to at their end: c + t
	PrefillLongest int64 // the most that one chunk attends to: max (c + t)
	Outputs        int   // rows through the LM head
	SwapBlocks     int64 // KV blocks copied to and from host memory before the step runs
	Capped         [2]Capped

	Adapters       int            // LoRA adapters that some sequence of the step has
	AdapterTokens  int64          // Σ tokens of the sequences that have one
	AdapterOutputs int            // of the rows through the LM head, those of such sequences
	AdapterCopies  clock.Duration // that adapters take to come to the GPU before the step runs
}

// Capped is the context as layers with a limited window see it, for a Window of the model.
type Capped struct {
	Ctx          int64 // Σ over decodes of the tokens in the window
	Growing      int   // decodes whose window still grows by one token per step
	PrefillPairs int64 // Σ query–key pairs of the chunks within the window
	PrefillCtx   int64 // Σ tokens that some query of a chunk attends to
}

// AddChunk adds a prompt chunk of t tokens after c computed ones; a sign of −1 takes it out again. Whether the chunk
// ends its prompt, and so counts among the Outputs, is for the caller to say, and so is which of the chunks that are
// left is the longest.
func (b *Shape) AddChunk(windows []Window, c, t, sign int64) {
	b.Prefills += int(sign)
	b.PrefillTokens += sign * t
	b.PrefillPairs += sign * (t*c + t*(t+1)/2)
	b.PrefillCtx += sign * (c + t)
	if sign > 0 {
		b.PrefillLongest = max(b.PrefillLongest, c+t)
	} else if b.Prefills == 0 {
		b.PrefillLongest = 0
	}
	for i := range windows {
		windows[i].addChunk(&b.Capped[i], c, t, sign)
	}
}

// ClearPrefill takes every chunk out of the shape.
func (b *Shape) ClearPrefill() {
	b.Prefills, b.PrefillTokens = 0, 0
	b.PrefillPairs, b.PrefillCtx, b.PrefillLongest = 0, 0, 0
	for i := range b.Capped {
		b.Capped[i].PrefillPairs, b.Capped[i].PrefillCtx = 0, 0
	}
}

// ClearDecodes takes every decode out of the shape.
func (b *Shape) ClearDecodes() {
	b.Decodes, b.DecodeTokens = 0, 0
	b.DecodeCtx, b.Drafts = 0, 0
	for i := range b.Capped {
		b.Capped[i].Ctx, b.Capped[i].Growing = 0, 0
	}
}

// AddDrafting adds a decode that verifies so many drafts, and then attends to ctx tokens.
func (b *Shape) AddDrafting(windows []Window, drafts int32, ctx int32) {
	b.Decodes++
	b.DecodeTokens += int64(1 + drafts)
	b.Drafts += int64(drafts)
	b.DecodeCtx += int64(ctx)
	for i := range windows {
		b.Capped[i].Ctx += int64(windows[i].visible(ctx))
	}
}
