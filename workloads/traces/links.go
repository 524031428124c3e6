package traces

import (
	"hash/maphash"
	"math/bits"
)

// links are the distinct ids behind distinct blocks, numbered from 1 in the order in which they were added: a hash
// table with open addressing, since a trace may name millions, of which a map would take three times the memory. Its
// seed is drawn, so that no file can be made to collide; nothing depends on where an entry lies.
type links struct {
	before []int32 // the block in front of each; 0: none. Entry 0 is no link
	ids    []int64
	slots  []int32 // of the table, a power of two: a link, or 0
	seed   [2]uint64
}

const (
	linkSlotsMin = 1 << 10

	// A table is full when three of four slots are: then one that is looked for is found, or known to be lacking, after
	// a few steps.
	fullOf, fullPart = 4, 3
)

func newLinks() links {
	seed := maphash.MakeSeed()
	l := links{seed: [2]uint64{maphash.String(seed, "ids"), maphash.String(seed, "blocks")}}
	l.size(linkSlotsMin)
	l.before, l.ids = append(l.before, 0), append(l.ids, 0)
	return l
}

// len returns how many links there are, with the one that is none.
func (l *links) len() int { return len(l.before) }

// full reports whether the table has to grow before a link is added.
func (l *links) full() bool { return len(l.before) == cap(l.before) }

// growth returns the bytes that grow takes.
func (l *links) growth() int64 {
	const linkBytes, slotBytes = 4 + 8, 4
	return 2 * int64(len(l.slots)) * (slotBytes + linkBytes*fullPart/fullOf)
}

// grow doubles the table.
func (l *links) grow() {
	l.size(2 * len(l.slots))
	for n := 1; n < len(l.before); n++ {
		l.slots[l.slot(l.before[n], l.ids[n])] = int32(n)
	}
}

// size makes room for links in so many slots, of which all are empty.
func (l *links) size(slots int) {
	room := slots / fullOf * fullPart
	l.before = append(make([]int32, 0, room), l.before...)
	l.ids = append(make([]int64, 0, room), l.ids...)
	l.slots = make([]int32, slots)
}

// slot returns where a link is, or the empty slot where it would be.
func (l *links) slot(before int32, id int64) int {
	mask := len(l.slots) - 1
	high, low := bits.Mul64(uint64(id)^l.seed[0], uint64(before)^l.seed[1])
	at := int(high^low) & mask
	for {
		n := l.slots[at]
		if n == 0 || l.ids[n] == id && l.before[n] == before {
			return at
		}
		at = (at + 1) & mask
	}
}

// find returns the number of a link; 0: there is none.
func (l *links) find(before int32, id int64) int32 { return l.slots[l.slot(before, id)] }

// add adds a link that there is none of yet to a table that is not full, and returns its number.
func (l *links) add(before int32, id int64) int32 {
	n := int32(len(l.before))
	l.slots[l.slot(before, id)] = n
	l.before, l.ids = append(l.before, before), append(l.ids, id)
	return n
}
