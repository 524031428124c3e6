package traces

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
)

// TestCountsAreWholeNumbersUpToTheMost, with any number of zeros behind a point.
func TestCountsAreWholeNumbersUpToTheMost(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "0012": 12, "5.": 5, "5.0": 5, "5.000": 5, "1073741823": 1073741823, "1073741823.0": 1073741823,
	} {
		n, ok := parseCount([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, n, text)
	}
	for _, text := range []string{"", ".", ".0", "1073741824", "9999999999", "1.5", "1.05", "1.0x", "-1", "+1", "1e3",
		" 1", "1 ", "/", ":"} {
		_, ok := parseCount([]byte(text))
		assert.False(t, ok, text)
	}
}

// TestSecondsAreExact to the picosecond, in seconds and in milliseconds, from 0 to 10^15 of the unit.
func TestSecondsAreExact(t *testing.T) {
	for text, want := range map[string][2]instant{ // as seconds, and as milliseconds
		"0":                  {{0, 0}, {0, 0}},
		"1":                  {{1, 0}, {0, 1e9}},
		"1999":               {{1999, 0}, {1, 999e9}},
		"2000.5":             {{2000, 5e11}, {2, 5e8}},
		"3.000000000001":     {{3, 1}, {0, 3e9}},
		"3.123456789012999":  {{3, 123456789012}, {0, 3123456789}},
		".25":                {{0, 25e10}, {0, 25e7}},
		"4.":                 {{4, 0}, {0, 4e9}},
		"1000000000000000":   {{1e15, 0}, {1e12, 0}},
		"1000000000000000.2": {{1e15, 2e11}, {1e12, 2e8}}, // which no float is
		"1.5e3":              {{1500, 0}, {1, 5e11}},
		"25E-02":             {{0, 25e10}, {0, 25e7}},
		"1e15":               {{1e15, 0}, {1e12, 0}},
		"+0":                 {{0, 0}, {0, 0}},
		"1700000000.9999999": {{1700000000, 999999900000}, {1700000, 999999900}},
	} {
		for i, parse := range []func([]byte) (instant, bool){parseSeconds, parseMilliseconds} {
			got, ok := parse([]byte(text))
			assert.True(t, ok, text)
			assert.Equal(t, want[i], got, text)
		}
	}
	for _, text := range []string{"", ".", "1000000000000001", "1.1e15", "-1", "-1e-9", "1.2.3", "1e", "1x", "0x10",
		"1_0", "inf", "NaN", "1e999", "1,5", "1 2"} {
		_, ok := parseSeconds([]byte(text))
		assert.False(t, ok, text)
	}
}

// TestInstantsAreApart by at most the clock, and never by less than nothing.
func TestInstantsAreApart(t *testing.T) {
	const end = int64(sim.HorizonS)
	for _, c := range []struct {
		t, u instant
		want sim.Duration
		ok   bool
	}{
		{instant{5, 7}, instant{5, 7}, 0, true}, {instant{5, 8}, instant{5, 7}, 1, true},
		{instant{6, 0}, instant{5, 999_999_999_999}, 1, true}, {instant{7, 3}, instant{5, 1}, 2*sim.Second + 2, true},
		{instant{end, 0}, instant{0, 0}, sim.Duration(end) * sim.Second, true},
		{instant{5, 6}, instant{5, 7}, 0, false}, {instant{4, 9}, instant{5, 7}, 0, false},
		{instant{end + 1, 0}, instant{0, 0}, 0, false},
	} {
		got, ok := c.t.since(c.u)
		assert.Equal(t, c.ok, ok, "%v", c)
		assert.Equal(t, c.want, got, "%v", c)
		assert.Equal(t, c.t.s < c.u.s || c.t.s == c.u.s && c.t.ps < c.u.ps, c.t.before(c.u))
	}
}

// TestDatesAreSecondsOfUTC, whose offset they may say, up to the last second of a day and the last day of a month.
func TestDatesAreSecondsOfUTC(t *testing.T) {
	for text, want := range map[string]instant{
		"1970-01-01 00:00:00":              {0, 0},
		"1970-01-01T00:00:59Z":             {59, 0},
		"1970-01-02 23:59:59.5":            {2*86400 - 1, 5e11},
		"1970-01-01 01:02:03+01:02":        {3, 0},
		"1969-12-31 22:30:00-01:30":        {0, 0},
		"1970-01-01 23:59:00.25+23:59":     {0, 25e10},
		"2000-02-29 00:00:00":              {951782400, 0},
		"0000-01-01 00:00:00":              {-62167219200, 0},
		"0000-02-29 00:00:00":              {-62162121600, 0},
		"0000-03-01 00:00:00":              {-62162035200, 0},
		"0001-01-01 00:00:00":              {-62135596800, 0},
		"2024-02-29 23:59:59.000000000001": {1709251199, 1},
		"2024-12-31 00:00:00":              {1735603200, 0},
		"2023-04-30 00:00:00":              {1682812800, 0},
		"2023-06-30 00:00:00":              {1688083200, 0},
		"2023-09-30 00:00:00":              {1696032000, 0},
		"2023-11-30 00:00:00":              {1701302400, 0},
		"2023-01-31 00:00:00":              {1675123200, 0},
	} {
		got, ok := parseDate([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "2023-01-01 00:00:0", "2023-00-01 00:00:00", "2023-13-01 00:00:00", "2023-01-00 00:00:00",
		"2023-01-32 00:00:00", "2023-02-29 00:00:00", "2100-02-29 00:00:00", "2023-04-31 00:00:00", "2023-06-31 00:00:00",
		"2023-09-31 00:00:00", "2023-11-31 00:00:00", "2023-01-01 24:00:00", "2023-01-01 00:60:00", "2023-01-01 00:00:60",
		"2023/01-01 00:00:00", "2023-01/01 00:00:00", "2023-01-01_00:00:00", "2023-01-01 00.00:00", "2023-01-01 00:00.00",
		"x023-01-01 00:00:00", "2023-x1-01 00:00:00", "2023-01-x1 00:00:00", "2023-01-01 x0:00:00", "2023-01-01 00:x0:00",
		"2023-01-01 00:00:x0", "2023-01-01 00:00:00+24:00", "2023-01-01 00:00:00+00:60", "2023-01-01 00:00:00*00:00",
		"2023-01-01 00:00:00+0000", "2023-01-01 00:00:00+00.00", "2023-01-01 00:00:00z", "2023-01-01 00:00:00Zz",
		"2023-01-01 00:00:00.", "2023-01-01 00:00:00+x0:00", "2023-01-01 00:00:00+00:x0",
	} {
		_, ok := parseDate([]byte(text))
		assert.False(t, ok, text)
	}
}

// TestValuesEndWhereTheyEnd: the length of a JSON value is that of its text, whatever follows, and 0 where it is cut.
func TestValuesEndWhereTheyEnd(t *testing.T) {
	for _, value := range []string{
		`""`, `"a"`, `"a\"b"`, `"\\"`, `"]}"`, `[]`, `[1]`, `[1,2]`, `[[1],[2]]`, `[{"a":[]}]`, `["]"]`, `{}`, `{"a":1}`,
		`{"a":{"b":"}"}}`, `{"a":[1,{"b":2}]}`, `12`, `-1.5e3`, `null`, `true`,
	} {
		for _, after := range []string{"", ",", "}", "]", " ", "\t", "\r", ":", `"`, "[", "{"} {
			assert.Equal(t, len(value), valueEnd([]byte(value+after)), "%s before %q", value, after)
		}
		if bytes.ContainsAny([]byte(value[:1]), `"[{`) {
			for cut := 1; cut < len(value); cut++ {
				assert.Zero(t, valueEnd([]byte(value[:cut])), "%s cut to %d", value, cut)
			}
		}
	}
	assert.Zero(t, valueEnd(nil))
	assert.Zero(t, stringEnd([]byte("a")))
}

// TestCellsAreCut at commas outside of quotes.
func TestCellsAreCut(t *testing.T) {
	for _, c := range []struct{ line, field, rest string }{
		{"a,b", "a", "b"}, {"a", "a", ""}, {",b", "", "b"}, {`"a,b",c`, "a,b", "c"}, {`"a"`, "a", ""}, {`"",x`, "", "x"},
		{`"a""b",c`, `a""b`, "c"}, {`"a""",c`, `a""`, "c"}, {`"""",c`, `""`, "c"}, {`a"b,c`, `a"b`, "c"},
	} {
		field, rest, ok := cut([]byte(c.line))
		assert.True(t, ok, c.line)
		assert.Equal(t, c.field, string(field), c.line)
		assert.Equal(t, c.rest, string(rest), c.line)
	}
	for _, line := range []string{`"`, `"a`, `"a"b`, `"a""`, `"a,b`, `"a" ,b`} {
		_, _, ok := cut([]byte(line))
		assert.False(t, ok, line)
	}
	for text, want := range map[string]string{
		"": "", " ": "", "\t \t": "", " a ": "a", "a b": "a b", "\ta": "a", "a\t": "a",
	} {
		assert.Equal(t, want, string(trim([]byte(text))))
	}
	names, ok := header([]byte(` a,"b" , c`))
	assert.False(t, ok, "text behind a quote: %v", names)
	names, ok = header([]byte(` a,"b", c,`))
	assert.True(t, ok)
	assert.Equal(t, []string{"a", "b", "c", ""}, names)
}

// TestBlocksAreNamedByTheirSize: from 1 to 65,536 tokens, and 512 where only ids are named.
func TestBlocksAreNamedByTheirSize(t *testing.T) {
	for name, want := range map[string]int32{
		"hash_ids": 512, "block1_ids": 1, "block16_input": 16, "block512_ids": 512, "block65536_ids": 65536,
		"block0_ids": 0, "block65537_ids": 0, "block_ids": 0, "block16_output": 0, "block16ids": 0, "16_ids": 0, "ids": 0,
		"block16.5_ids": 0, "xblock16_ids": 0,
	} {
		key, tokens := blockKey([]string{"a", name, "b"}, 0)
		assert.Equal(t, want, tokens, name)
		assert.Equal(t, want > 0, key == name, name)
	}
}

// TestOnlyDigitsAreDigits: what stands beside 0 and 9 among the characters is none, wherever a number has one.
func TestOnlyDigitsAreDigits(t *testing.T) {
	for text, parse := range map[string]func([]byte) (instant, bool){
		"2023-04-05 06:07:08.9+10:11": parseDate, "12.5": parseSeconds, "34.5": parseMilliseconds, "1.5e1": parseSeconds,
	} {
		_, ok := parse([]byte(text))
		assert.True(t, ok, text)
		for i, c := range text {
			for _, other := range []byte{'0' - 1, '9' + 1} {
				if c < '0' || c > '9' {
					continue
				}
				wrong := []byte(text)
				wrong[i] = other
				_, ok := parse(wrong)
				assert.False(t, ok, "%s", wrong)
			}
		}
	}
	for _, text := range []string{"1", "12", "123"} {
		for i := range text {
			for _, other := range []byte{'0' - 1, '9' + 1} {
				wrong := []byte(text)
				wrong[i] = other
				_, ok := parseID(wrong)
				assert.False(t, ok, "%s", wrong)
			}
		}
	}
}

// TestALineHasAtMost16MiB, its end included.
func TestALineHasAtMost16MiB(t *testing.T) {
	const head, tail = `{"arrival_s":0,"input_tokens":10,"output_tokens":10,"x":"`, "\"}\n"
	for n, ok := range map[int]bool{lineMax: true, lineMax + 1: false} {
		row := head + strings.Repeat("x", n-len(head)-len(tail)) + tail
		_, err := New("t", strings.NewReader(row), Options{})
		assert.Equal(t, ok, err == nil, "%d bytes: %v", n, err)
	}
}
