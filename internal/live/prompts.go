package live

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/decodesim/decodesim/sim"
)

// BlockTokens is the granularity at which prompts are compared: as many tokens as vLLM's blocks have.
const BlockTokens = 16

// Prompt is what a client sends, as the cache goes by it.
type Prompt struct {
	Tokens int32
	Blocks []uint64 // hashes of its full blocks, each of that block's text alone
}

// Reader counts the tokens of prompts without a tokenizer: every so many bytes of a piece of text are one, and what is
// left of a piece is another. Equal pieces after equal pieces are equal tokens.
type Reader struct {
	seed  maphash.Seed
	bytes int
}

// NewReader returns a reader of tokens of so many bytes.
func NewReader(bytesPerToken int) *Reader { return &Reader{maphash.MakeSeed(), bytesPerToken} }

// BytesPerToken returns how many bytes of text are a token.
func (r *Reader) BytesPerToken() int { return r.bytes }

// Text returns the prompt that consists of pieces of text.
func (r *Reader) Text(pieces ...string) Prompt {
	p, b := Prompt{}, r.block()
	tokens := 0
	for _, piece := range pieces {
		for len(piece) > 0 {
			n := min(r.bytes, len(piece))
			_, _ = b.hash.WriteString(piece[:n])
			for range r.bytes - n {
				_ = b.hash.WriteByte(0)
			}
			piece = piece[n:]
			tokens++
			b.next(&p)
		}
	}
	p.Tokens = int32(min(tokens, 1<<30))
	return p
}

// IDs returns the prompt that consists of tokens with these ids.
func (r *Reader) IDs(ids []int64) Prompt {
	p, b := Prompt{}, r.block()
	var word [8]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint64(word[:], uint64(id))
		_, _ = b.hash.Write(word[:])
		b.next(&p)
	}
	p.Tokens = int32(min(len(ids), 1<<30))
	return p
}

// block is the block that is being read.
type block struct {
	hash   maphash.Hash
	tokens int
}

func (r *Reader) block() *block {
	b := &block{}
	b.hash.SetSeed(r.seed)
	return b
}

// next counts a token, and adds the block to p when it is full.
func (b *block) next(p *Prompt) {
	b.tokens++
	if b.tokens == BlockTokens {
		p.Blocks = append(p.Blocks, b.hash.Sum64())
		b.hash.Reset()
		b.tokens = 0
	}
}

// prompts is what the prompts that have come have in common: a tree of their blocks.
type prompts struct {
	tree    *sim.Contents
	known   map[link]int32
	Unnamed int64 // blocks beyond blocksMax, which no later prompt finds again
}

// link is a block behind another, or the first of an adapter, which is behind the adapter's number below 0.
type link struct {
	before int32
	hash   uint64
}

// blocksMax bounds the distinct blocks, at about 60 bytes each.
const blocksMax = 4 << 20

func newPrompts(tree *sim.Contents) *prompts {
	return &prompts{tree: tree, known: map[link]int32{}}
}

// node returns where in the tree the full blocks of p end. Those of an adapter are a tree of their own, as vLLM names
// blocks by the adapter, too.
func (x *prompts) node(p *Prompt, adapter uint16) (node int32) {
	for i, hash := range p.Blocks {
		l := link{node, hash}
		if i == 0 {
			l.before = -int32(adapter)
		}
		next, ok := x.known[l]
		if !ok {
			if len(x.known) == blocksMax {
				x.Unnamed += int64(len(p.Blocks) - i)
				return node
			}
			next = x.tree.Add(node, BlockTokens)
			x.known[l] = next
		}
		node = next
	}
	return node
}
