package live

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
)

const workload = `
workload:
  arrivals: {process: poisson, rate: 10}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 1000
`

// deployments are those that the laws of live serving are tested with: caches that are too small, several replicas,
// pools with KV transfers, speculation, ingress and egress, classes, other engines.
func deployments() []string {
	return []string{
		"pools: [{gpu: h100-sxm, replicas: 2, replicas_max: 3, num_gpu_blocks: 300, max_model_len: 4096}]",
		"pools: [{gpu: h100-sxm, replicas: 3, max_num_seqs: 4}]\nrouter: prefix-aware\nstream: {rtt_ms: 20}",
		"pools: [{gpu: l40s, engine: sglang, replicas: 2}]\nrouter: round-robin",
		"pools:\n  - {name: p, role: prefill, gpu: h100-sxm, replicas: 2}\n" +
			"  - {name: d, role: decode, gpu: h100-sxm, replicas: 2, replicas_max: 3, num_gpu_blocks: 400, " +
			"max_model_len: 4096}",
		"pools: [{gpu: h100-sxm, replicas: 2, replicas_max: 4, cold_start_s: 3}]\n" +
			"speculation: {method: eagle, num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.7}}",
		"pools: [{gpu: a100-sxm-80gb, engine: vllm-v0, num_gpu_blocks: 200, max_model_len: 2048, replicas: 2}]\n" +
			"stream: {stream_interval: 4}\nnoise: {jitter: 0.05}",
	}
}

func built(t require.TestingT, text string) *build.Built {
	s, err := configs.Read("live.yaml", []byte("name: live\nmodel: llama-3.1-8b\n"+text+workload), configs.Options{})
	require.NoError(t, err)
	b, err := build.NewLive(s)
	require.NoError(t, err)
	return b
}

// client is one of the clients of a test: it asks, follows its answer, and may give up.
type client struct {
	answer  *Answer
	cancels sim.Time // 0: it does not
	got     []sim.Time
}

// visit is what comes at an instant.
type visit struct {
	at      sim.Time
	asks    []Ask
	clients []*client
	command *Command
}

// draw draws visits of a fleet: bursts, prompts that begin alike, clients that give up, and commands.
func draw(rnd *rand.Rand, pools []string) (visits []visit, all []*client) {
	reader, at := NewReader(4), sim.Time(0)
	system := strings.Repeat("Answer as briefly as you can. ", 40)
	for i := range 5 + rnd.IntN(60) {
		at = at.Add(sim.Seconds(float64(min(i, 1)) * rnd.ExpFloat64() * 0.1))
		v := visit{at: at}
		for range 1 + rnd.IntN(3)*rnd.IntN(2) {
			c := &client{answer: NewAnswer(func() {})}
			if rnd.IntN(5) == 0 {
				c.cancels = at.Add(1 + sim.Seconds(rnd.ExpFloat64()*0.5))
			}
			text := fmt.Sprint("user ", rnd.IntN(4), strings.Repeat(" and", rnd.IntN(400)))
			a := Ask{Prompt: reader.Text(system[:rnd.IntN(2)*len(system)], text), Limit: int32(1 + rnd.IntN(200)),
				Exact: rnd.IntN(2) == 0, Replica: -1, Answer: c.answer}
			v.asks, v.clients = append(v.asks, a), append(v.clients, c)
		}
		if rnd.IntN(12) == 0 {
			v.command = &Command{Do: []string{"fail", "drain", "scale"}[rnd.IntN(3)], Replica: rnd.IntN(2),
				Pool: pools[rnd.IntN(len(pools))], DownS: float64(rnd.IntN(3)), Replicas: 1 + rnd.IntN(2),
				InFlight: []string{"", "fail"}[rnd.IntN(2)]}
		}
		visits, all = append(visits, v), append(all, v.clients...)
	}
	return visits, all
}

// serve has a fleet served live, on a clock that the test moves.
func serve(t require.TestingT, f *Fleet, visits []visit, all []*client, rnd *rand.Rand) {
	now := sim.Time(0)
	to := func(at sim.Time) {
		for now < at {
			now = min(at, now.Add(sim.Seconds(rnd.ExpFloat64()*0.05)))
			next := f.Advance(now)
			require.Greater(t, next, now)
			for _, c := range all {
				if c.cancels > 0 && c.cancels <= now {
					f.Cancel(now, c.answer)
					c.cancels = 0
				}
				tokens, due := c.answer.Released()
				require.LessOrEqual(t, due, now, "no token comes before it is due")
				for int32(len(c.got)) < tokens {
					c.got = append(c.got, now)
				}
			}
		}
	}
	for _, v := range visits {
		to(v.at)
		f.Admit(v.at, v.asks)
		if v.command != nil {
			_, err := f.Command(v.at, *v.command)
			require.NoError(t, err)
		}
	}
	for range 200 {
		if len(f.open) == 0 {
			break
		}
		to(now.Add(sim.Second))
	}
}

// TestWhatWasServedLiveIsReplayed: run, given the trace and the scenario that a live service leaves, gives every
// request the same latencies, the same share of its prompt in the cache, the same replica and the same outcome.
func TestWhatWasServedLiveIsReplayed(t *testing.T) {
	dir := t.TempDir()
	cover := map[string]int{}
	for seed := range uint64(soak.Part(60)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		list := deployments()
		b := built(t, list[seed%uint64(len(list))])
		var trace bytes.Buffer
		f, err := New(b, Options{Rows: -1, Trace: &trace})
		require.NoError(t, err)
		var pools []string
		for _, p := range b.Scenario.Pools {
			pools = append(pools, p.Name)
		}
		visits, all := draw(rnd, pools)
		serve(t, f, visits, all, rnd)
		path := filepath.Join(dir, "trace.jsonl")
		live, err := f.Finish(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, trace.Bytes(), 0o600))
		compareReplay(t, fmt.Sprint("seed ", seed), b.Scenario, live, cover)
		for i, c := range all {
			cover["tokens"] += len(c.got)
			o, ended := c.answer.Ended()
			require.True(t, ended)
			require.Equal(t, live.Rows[i].Outcome, o.String())
			if tokens, _ := c.answer.Released(); o == sim.Completed {
				require.Equal(t, live.Rows[i].OutputTokens, tokens, "a client of a completed request has all its tokens")
			}
		}
	}
	t.Logf("covered: %v", cover)
	for what, least := range map[string]int{"completed": 500, "failed": 50, "cached": 500, "preempted": 20} {
		require.GreaterOrEqual(t, cover[what], soak.Least(least), what)
	}
}

// compareReplay simulates the scenario that a live service left, and compares its rows.
func compareReplay(t require.TestingT, what string, s *configs.Scenario, live *run.Result, cover map[string]int) {
	again, err := configs.Read("replay.yaml", s.YAML(), configs.Options{})
	require.NoError(t, err, string(s.YAML()))
	b, err := build.New(again)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	replayed, err := run.Simulate(context.Background(), b, run.Options{Rows: -1})
	require.NoError(t, err)
	require.Len(t, replayed.Rows, len(live.Rows))
	for i := range live.Rows {
		require.Equal(t, live.Rows[i], replayed.Rows[i], "%s: request %d", what, i)
		cover[live.Rows[i].Outcome]++
		cover["cached"] += min(1, int(live.Rows[i].CachedTokens))
		cover["preempted"] += int(live.Rows[i].Preemptions)
	}
	require.Equal(t, live.Summary.Latency, replayed.Summary.Latency, what)
}
