package traces

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// blocks is what the prompts of a trace have in common, by the ids of their blocks: a radix tree of extents, built
// while the trace is read for the first time. Its memory grows with the distinct blocks, not with the requests.
//
// Equal ids after equal ids are equal tokens. New ids behind a known one are a new extent; an extent is cut where
// prompts part, and where one goes on with tokens that have no id.
type blocks struct {
	tokens int32    // of a block
	known  links    // Block 0 stands in front of the first
	begins []bool   // whether an extent does, until the tree is built
	node   []int32  // of the tree, once it is built
	room   MoreRoom // asked before more memory is taken; nil: nobody is
	tree   sim.Contents
}

func newBlocks(tokens int32, room MoreRoom) *blocks {
	return &blocks{tokens: tokens, known: newLinks(), begins: make([]bool, 1), room: room}
}

// blockKey says which key of a JSON line holds block ids and how many tokens a block has: "hash_ids", whose blocks have
// the size that the format says, or else Mooncake's 512, or a key such as "block512_ids" or "block16_input".
func blockKey(names []string, ofFormat int32) (key string, tokens int32) {
	for _, name := range names {
		if name == "hash_ids" {
			return name, cmp.Or(ofFormat, mooncakeBlock)
		}
		rest, ok := strings.CutPrefix(name, "block")
		size, kind, _ := strings.Cut(rest, "_")
		if !ok || kind != "ids" && kind != "input" {
			continue
		}
		if n, ok := parseCount([]byte(size)); ok && n > 0 && n <= 1<<16 {
			return name, int32(n)
		}
	}
	return "", 0
}

// appendIDs reads the whole numbers of a JSON array.
func appendIDs(ids []int64, b []byte) (all []int64, ok bool) {
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return ids, false
	}
	b = b[1 : len(b)-1]
	for more := len(trim(b)) > 0; more; {
		var field []byte
		field, b, more = bytes.Cut(b, []byte{','})
		id, ok := parseID(trim(field))
		if !ok {
			return ids, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// parseID reads a whole number of at most 18 digits.
func parseID(b []byte) (id int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		id = id*10 + int64(c-'0')
	}
	return id, true
}

// learn adds the blocks of a prompt.
func (k *blocks) learn(ids []int64, prompt int32) error {
	last, fresh := int32(0), false
	for _, id := range ids {
		next := k.known.find(last, id)
		if next == 0 {
			if err := k.grow(); err != nil {
				return err
			}
			if !fresh {
				k.cut(last)
			}
			next = k.known.add(last, id)
			k.begins = append(k.begins, !fresh)
			fresh = true
		}
		last = next
	}
	if int64(len(ids))*int64(k.tokens) < int64(prompt) {
		k.cut(last)
	}
	return nil
}

const (
	// blocksMax bounds the distinct blocks: a few GiB.
	blocksMax = 1 << 26

	// blockBytes is what a block takes beside its link at the most: whether an extent begins there, in a slice that
	// grows, and its node. A node of the tree has 8 bytes and is as often the end of many blocks as of one.
	blockBytes = 2 + 4 + 16
)

// grow makes room for a block more, if there is.
func (k *blocks) grow() error {
	n := k.known.len()
	if n == blocksMax {
		return fmt.Errorf("this is distinct block %d; accepted: at most %d", blocksMax, blocksMax-1)
	}
	if !k.known.full() {
		return nil
	}
	if k.room != nil {
		if err := k.room(k.known.growth() + int64(n)*blockBytes); err != nil {
			return fmt.Errorf("%d distinct blocks so far: %w", n, err)
		}
	}
	k.known.grow()
	return nil
}

// cut ends an extent behind block last, if last is inside of one.
func (k *blocks) cut(last int32) {
	if next := last + 1; int(next) < k.known.len() && k.known.before[next] == last {
		k.begins[next] = true
	}
}

// build makes the tree of what has been learnt.
func (k *blocks) build() {
	k.node = make([]int32, k.known.len())
	for first := 1; first < len(k.node); {
		end := first + 1
		for end < len(k.node) && !k.begins[end] {
			end++
		}
		n := k.tree.Add(k.node[k.known.before[first]], int32(end-first)*k.tokens)
		for b := first; b < end; b++ {
			k.node[b] = n
		}
		first = end
	}
	k.begins = nil
}

// content returns the node that a prompt of known blocks ends in.
func (k *blocks) content(ids []int64) int32 {
	last := int32(0)
	for _, id := range ids {
		last = k.known.find(last, id)
	}
	return k.node[last]
}
