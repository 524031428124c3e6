package openai

import "encoding/binary"

// words are the text of an answer: every token is a blank and letters, so many bytes in all.
type words struct {
	seed  uint64
	bytes int
}

// append writes the tokens of a position and those after it, so many in all.
func (w words) append(b []byte, from, tokens int32) []byte {
	var letters [8]byte
	for i := range tokens {
		binary.LittleEndian.PutUint64(letters[:], mix(w.seed+uint64(from+i)*0x9e3779b97f4a7c15))
		b = append(b, ' ')
		for j := 1; j < w.bytes; j++ {
			b = append(b, 'a'+letters[j%8]%26)
		}
	}
	return b
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA '14).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
