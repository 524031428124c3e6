package traces

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// path returns the nodes from the root to n, and the tokens up to the end of each.
func path(tree *sim.Contents, n int32) (nodes, ends []int32) {
	for ; n != 0; n = tree.Parent(n) {
		nodes, ends = append([]int32{n}, nodes...), append([]int32{tree.Tokens(n)}, ends...)
	}
	return nodes, ends
}

// inCommon returns how many tokens the prompts of two requests begin with in common.
func inCommon(tree *sim.Contents, a, b *sim.Request) int32 {
	p, ends := path(tree, a.Content)
	q, _ := path(tree, b.Content)
	common := int32(0)
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			break
		}
		common = ends[i]
	}
	return min(common, a.Prompt, b.Prompt)
}

// TestBlockIDsSayWhatIsShared: two prompts have in common exactly the blocks up to the first that differs, whatever
// other prompts part from them or end in between.
func TestBlockIDsSayWhatIsShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 16
		var rows [][]int64
		var text strings.Builder
		for i := range rapid.IntRange(1, 25).Draw(t, "rows") {
			ids := rapid.SliceOfN(rapid.Int64Range(0, 2), 0, 7).Draw(t, "ids")
			// the last block may be a beginning, or tokens without an id follow
			rest := rapid.IntRange(0, 40).Draw(t, "rest") - 15
			rows = append(rows, ids)
			fmt.Fprintf(&text, `{"arrival_s":%d,"input_tokens":%d,"output_tokens":1,"block16_ids":[%s]}`+"\n",
				i, max(1, len(ids)*size+rest), strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]"))
		}
		tr, err := New("trace", strings.NewReader(text.String()), Options{Contents: true})
		require.NoError(t, err)
		requests := sourcetest.Drain(tr)
		require.Len(t, requests, len(rows))
		for i := range rows {
			for j := range i {
				n := int32(0)
				for int(n) < min(len(rows[i]), len(rows[j])) && rows[i][n] == rows[j][n] {
					n++
				}
				require.Equal(t, min(n*size, requests[i].Prompt, requests[j].Prompt),
					inCommon(tr.Contents(), &requests[i], &requests[j]),
					"requests %d and %d", j, i)
			}
		}
	})
}

// TestExtentsAreFew: what nothing parts stays one extent, however many blocks it has.
func TestExtentsAreFew(t *testing.T) {
	line := `{"timestamp":0,"input_length":5000,"output_length":1,"hash_ids":[1,2,3,4,5,6,7,8,9,%s]}` + "\n"
	const half = `{"timestamp":0,"input_length":%d,"output_length":1,"hash_ids":[1,2,3,4,5]}`
	for text, nodes := range map[string]int{fmt.Sprintf(line, "10"): 1,
		fmt.Sprintf(line, "10") + fmt.Sprintf(line, "11"):    3,
		fmt.Sprintf(line, "10") + fmt.Sprintf(half, 5*512):   1, // it ends inside, and nothing goes on from there
		fmt.Sprintf(line, "10") + fmt.Sprintf(half, 5*512+1): 2, // a token of its own follows
	} {
		tr, err := New("trace", strings.NewReader(text), Options{Contents: true})
		require.NoError(t, err)
		require.Equal(t, 1+nodes, tr.Contents().Len())
		require.EqualValues(t, 5120, tr.Contents().Tokens(sourcetest.Drain(tr)[0].Content),
			"the last block may be a beginning")
	}
}

func TestBadBlockIDsAreRefused(t *testing.T) {
	line := `{"timestamp":0,"input_length":1000,"output_length":1,%s}`
	longest := fmt.Sprintf(line, `"hash_ids":[1,999999999999999999]`)
	_, err := New("trace", strings.NewReader(longest), Options{Contents: true})
	require.NoError(t, err, "18 digits are enough")
	for want, ids := range map[string]string{
		`hash_ids is "[1,-2]"; accepted: a list of whole numbers`: `"hash_ids":[1,-2]`,
		`hash_ids is "7"; accepted: a list`:                       `"hash_ids":7`,
		`hash_ids is "[1,]"; accepted: a list`:                    `"hash_ids":[1,]`,
		`hash_ids is "[1000000000000000000]"; accepted: a list`:   `"hash_ids":[1000000000000000000]`,
		"hash_ids has 3 ids; accepted: at most 2":                 `"hash_ids":[1,2,3]`,
		"hash_ids is missing":                                     `"other":[1]`,
		"hash_ids is there twice":                                 `"hash_ids":[1],"hash_ids":[1]`,
	} {
		text := fmt.Sprintf(line, `"hash_ids":[1,2]`) + "\n" + fmt.Sprintf(line, ids)
		_, err := New("trace", strings.NewReader(text), Options{Contents: true})
		require.ErrorContains(t, err, "trace:2: "+want)
		tr, err := New("trace", strings.NewReader(text), Options{})
		if !strings.Contains(want, "twice") {
			require.NoError(t, err, "where nobody asks, nobody complains")
			require.Nil(t, tr.Contents())
		}
	}
}

// TestRealTracesShare compares with what the traces' own description says: 8 % of the prompt blocks of the ShareGPT
// samples were seen before.
func TestRealTracesShare(t *testing.T) {
	dir := shared(t)
	for file, want := range map[string][2]float64{
		"D_sharegpt_llama31_300.jsonl": {0.07, 0.09}, "D_sharegpt_qwen3_300.jsonl": {0.07, 0.09},
		"mooncake_fast25_conversation.jsonl.gz": {0.3, 0.5},
	} {
		tr, err := Open(filepath.Join(dir, file), Options{Contents: true})
		require.NoError(t, err)
		seen, blocks, hits := map[int32]int32{}, int64(0), int64(0)
		tree := tr.Contents()
		for _, r := range sourcetest.Drain(tr) {
			blocks += int64(r.Prompt / 16)
			hit := int32(0)
			for n := r.Content; n != 0; n = tree.Parent(n) {
				hit = max(hit, min(seen[n], r.Prompt))
				seen[n] = max(seen[n], min(r.Prompt, tree.Tokens(n)))
			}
			hits += int64(hit / 16)
		}
		require.NoError(t, tr.Close())
		share := float64(hits) / float64(blocks)
		t.Logf("%s: %d extents, %.1f %% of the prompt blocks seen before", file, tree.Len(), 100*share)
		require.Greater(t, share, want[0], file)
		require.Less(t, share, want[1], file)
	}
}

// TestRoomIsAskedForWhatATraceNames: memory is by what differs in a trace, so that room is asked for before there
// is more of it, and an error of that ends the reading.
func TestRoomIsAskedForWhatATraceNames(t *testing.T) {
	var ids, same, sessions strings.Builder
	sessions.WriteString("arrival_s,input_tokens,output_tokens,session_id\n")
	const n = sessionsFew + 1
	for i := range n {
		const line = `{"timestamp":0,"input_length":5,"output_length":1,"hash_ids":[%d]}` + "\n"
		fmt.Fprintf(&ids, line, i)
		fmt.Fprintf(&same, line, i%700)
		fmt.Fprintf(&sessions, "0,5,1,%d\n", i)
	}
	for _, c := range []struct {
		text  string
		asked int
		said  string
	}{
		{ids.String(), 7, `trace:768: 768 distinct blocks so far: no room`}, {same.String(), 0, ""},
		{sessions.String(), 2, fmt.Sprintf(`trace:%d: %d sessions so far: no room`, sessionsFew+1, sessionsFew)},
	} {
		asked, total := 0, int64(0)
		room := func(bytes int64) error {
			asked, total = asked+1, total+bytes
			return nil
		}
		tr, err := New("trace", strings.NewReader(c.text), Options{Contents: true, Room: room})
		require.NoError(t, err)
		require.Len(t, sourcetest.Drain(tr), n)
		require.Equal(t, c.asked, asked)
		require.LessOrEqual(t, total, int64(n)*300)
		_, err = New("trace", strings.NewReader(c.text), Options{Contents: true,
			Room: func(int64) error { return errors.New("no room") }})
		if c.said == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.said)
	}
}

// TestLinksAreAMap: the table finds what a map does, as it grows.
func TestLinksAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type link struct {
			before int32
			id     int64
		}
		l, twin := newLinks(), map[link]int32{}
		for _, id := range rapid.SliceOfN(rapid.Int64Range(0, 1500), 0, 4000).Draw(t, "ids") {
			before := int32(id % 3)
			if n := l.find(before, id); n != 0 {
				require.Equal(t, twin[link{before, id}], n)
				continue
			}
			require.NotContains(t, twin, link{before, id})
			if l.full() {
				grown := l.growth()
				l.grow()
				require.EqualValues(t, 4*len(l.slots)+12*cap(l.ids), grown)
			}
			twin[link{before, id}] = l.add(before, id)
			require.Equal(t, len(twin)+1, l.len())
		}
		for of, n := range twin {
			require.Equal(t, n, l.find(of.before, of.id))
			require.Zero(t, l.find(of.before+3, of.id))
		}
	})
}

// TestLinksTakeTheRoomThatIsAskedFor: what growth says is what the slices of the table have room for once it has grown,
// 4 bytes for a block and for a slot and 8 for an id.
func TestLinksTakeTheRoomThatIsAskedFor(t *testing.T) {
	l := newLinks()
	for range 4 {
		asked := l.growth()
		l.grow()
		require.EqualValues(t, 4*cap(l.before)+8*cap(l.ids)+4*cap(l.slots), asked)
	}
}
