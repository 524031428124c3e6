package strict

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Suggest returns the name nearest to got, or "" if none is near enough to be a slip of the finger.
func Suggest(got string, have []string) string {
	best, bestDistance := "", 1+max(1, len(got)/3)
	got = strings.ToLower(got)
	length := utf8.RuneCountInString(got)
	for _, name := range have {
		if other := utf8.RuneCountInString(name); max(length-other, other-length) >= bestDistance {
			continue // so many characters more or less are as many mistakes at least
		}
		if d := editDistance(got, strings.ToLower(name)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// DidYouMean returns the end of a message about an unknown name: the nearest one, the only one that begins with it, or
// else all.
func DidYouMean(what, got string, have []string) string {
	if what == "values" { // fp4 is mxfp4 or nvfp4, and fp8 only to the eye
		if all := endingWith(got, have); len(all) > 1 {
			return "did you mean one of " + Quoted(all) + "?"
		}
	}
	near := Suggest(got, have)
	if precision := precisionOf(got); what == "values" && slices.Contains(have, precision) {
		near = precision
	}
	if near == "" {
		near = completed(got, have)
	}
	if near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "valid " + what + ": " + Quoted(have)
}

// KeyHint returns the end of a message about a key that a struct does not have: what it goes by here, where inside it
// the key has its place, or else what DidYouMean says.
func KeyHint(t reflect.Type, got string) string {
	if key := Synonym(got); key != "" {
		if _, ok := FieldNamed(FieldsOf(t), key); ok {
			return fmt.Sprintf("did you mean %q?", key)
		}
		got = key
	}
	if at := Places(t, got); len(at) > 0 {
		return "expected it as " + strings.Join(at, " or ")
	}
	return DidYouMean("keys", got, KeysOf(FieldsOf(t)))
}

// Places returns the paths of the keys of that name inside a struct. Of more than a reader would go through, it returns
// those that are least deep, if these are few.
func Places(t reflect.Type, key string) []string {
	const few = 4
	all := inside(t, key)
	if len(all) <= few {
		return all
	}
	depth := func(path string) int { return strings.Count(path, ".") + strings.Count(path, "[") }
	least := depth(slices.MinFunc(all, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) }))
	all = slices.DeleteFunc(all, func(path string) bool { return depth(path) > least })
	if len(all) > few {
		return nil
	}
	return all
}

// inside returns the paths of the keys of that name in the parts of a struct, those of a part after those of its
// neighbours. The first element stands for a list.
func inside(t reflect.Type, key string) (all []string) {
	const depthMax = 4
	type part struct {
		path  string
		t     reflect.Type
		depth int
	}
	parts := []part{{t: t}}
	for i := 0; i < len(parts); i++ {
		for _, f := range FieldsOf(parts[i].t) {
			at, inner := Join(parts[i].path, f.Key), f.Type
			if i > 0 && f.Key == key {
				all = append(all, at)
			}
			for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
				if inner.Kind() == reflect.Slice {
					at += "[0]"
				}
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && parts[i].depth < depthMax {
				parts = append(parts, part{at, inner, parts[i].depth + 1})
			}
		}
	}
	return all
}

// precisionOf returns the precision that engines, checkpoints and drivers have another word for, as long as it and no
// longer; empty: it is none of theirs.
func precisionOf(word string) string {
	switch strings.ToLower(word) {
	case "fp16", "f16", "float16", "half", "bfloat16":
		return "bf16"
	case "awq", "gptq", "w4a16":
		return "int4"
	case "w8a8":
		return "int8"
	case "fp8_e4m3", "fp8_e5m2", "e4m3", "float8":
		return "fp8"
	}
	return ""
}

// endingWith returns the names that are got with something before it, if got has three letters or more.
func endingWith(got string, have []string) (all []string) {
	for _, n := range have {
		if len(got) >= 3 && len(n) > len(got) && strings.HasSuffix(strings.ToLower(n), strings.ToLower(got)) {
			all = append(all, n)
		}
	}
	return all
}

// Alike returns the names that have most words in common with got, a word of three letters or more being that of a
// name which begins with it; none: no name has any, or more than a reader would go through have.
func Alike(got string, have []string) (all []string) {
	const few = 8
	most := 1
	for _, name := range have {
		shared := 0
		for _, word := range strings.Split(strings.ToLower(got), "_") {
			if len(word) >= 3 && strings.Contains("_"+name, "_"+word) {
				shared++
			}
		}
		if shared > most {
			all, most = all[:0], shared
		}
		if shared == most {
			all = append(all, name)
		}
	}
	if len(all) > few {
		return nil
	}
	return all
}

// completed returns the only name that begins with got, of three letters or more; empty: none or several do.
func completed(got string, have []string) (name string) {
	for _, n := range have {
		if len(got) < 3 || !strings.HasPrefix(strings.ToLower(n), strings.ToLower(got)) {
			continue
		}
		if name != "" {
			return ""
		}
		name = n
	}
	return name
}

// Nearest returns the name of a catalog that was perhaps meant: the one that begins most alike, by at least a third of
// what was written and three letters, of several the nearest, and of equals the last, which is the newest version;
// else what Suggest says.
func Nearest(got string, have []string) string {
	got = strings.ToLower(got)
	best, bestShared, bestDistance := "", max(3, (len(got)+2)/3)-1, 0
	for _, name := range have {
		low := strings.ToLower(name)
		shared := sharedPrefix(got, low)
		if shared < bestShared || best == "" && shared == bestShared {
			continue
		}
		distance := editDistance(got, low)
		if shared > bestShared || shared == bestShared && best != "" && distance <= bestDistance {
			best, bestShared, bestDistance = name, shared, distance
		}
	}
	if best == "" {
		return Suggest(got, have)
	}
	return best
}

// sharedPrefix is how many bytes a and b begin with alike.
func sharedPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// UnknownName says that a catalog has no such name: the nearest name if one is near, or else all there are.
func UnknownName(kind, name string, have []string) string {
	if near := Nearest(name, have); near != "" {
		return fmt.Sprintf("%s %q not found; did you mean %q?", kind, name, near)
	}
	return fmt.Sprintf("%s %q not found; valid names: %s", kind, name, Quoted(have))
}

// NotFound is unknownName for a name that stands in no file.
func NotFound(kind, name string, have []string) error {
	return errors.New(UnknownName(kind, name, have))
}

// Quoted lists names in quotes.
func Quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	q := make([]string, len(names))
	for i, name := range names {
		q[i] = strconv.Quote(name)
	}
	return strings.Join(q, ", ")
}

// editDistance is the number of insertions, deletions, substitutions and swaps of neighbours from a to b, by rows of
// the usual table.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(s); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(t)]
}

// Message is an error without the package that found it, for it gets a position in the user's file instead.
func Message(err error) string {
	message := err.Error()
	for _, name := range []string{"configs: ", "hardware: ", "huggingface: ", "policies: ", "workloads: "} {
		message = strings.TrimPrefix(message, name)
	}
	return message
}

// CutKey splits an error that begins with one of the keys, perhaps with an index; none: the whole message is left.
func CutKey(err error, keys ...string) (key, rest string) {
	message := Message(err)
	first, rest, _ := strings.Cut(message, " ")
	for _, k := range keys {
		if first == k || strings.HasPrefix(first, k+"[") {
			return first, rest
		}
	}
	return "", message
}
