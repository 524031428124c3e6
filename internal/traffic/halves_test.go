package traffic

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/traces"
)

// half is one half of a trace, by time, that a law is judged on, and the laws that the other half has.
type half struct {
	path    string
	name    string
	options traces.Options // of the half that is left out
	other   traces.Options // of the one that laws are fitted to
	leftOut *Summary
	fitted  *Summary
	with    GapLaw // the nearest to the fitted half of all that are tried
	without GapLaw // the nearest whose gaps are exponential where the rate changes
}

// halves returns both halves of traces whose arrivals were recorded.
func halves(t *testing.T, traced ...[2]string) []half {
	dir := os.Getenv("DECODESIM_SHARED")
	if dir == "" {
		t.Skip("DECODESIM_SHARED names no folder of traces")
	}
	var all []half
	for _, of := range traced {
		h := half{path: filepath.Join(dir, "workloads", of[1])}
		whole, err := Describe(h.path, traces.Options{})
		require.NoError(t, err)
		middle := float64(whole.DurationS) / 2
		parts := []traces.Options{{EndS: middle}, {StartS: middle}}
		for i, name := range []string{"first", "second"} {
			h.name, h.options, h.other = of[0]+", "+name, parts[i], parts[1-i]
			h.leftOut, err = Describe(h.path, parts[i])
			require.NoError(t, err)
			h.fitted, err = Describe(h.path, parts[1-i])
			require.NoError(t, err)
			laws, err := gapLaws(h.fitted, 1)
			require.NoError(t, err)
			sortByDistance(laws)
			h.with = laws[0]
			laws = slices.DeleteFunc(laws, func(l GapLaw) bool {
				return l.CV > 0 && (l.Process == "on-off" || l.Process == "piecewise")
			})
			sortByDistance(laws)
			h.without = laws[0]
			all = append(all, h)
		}
	}
	return all
}

// ofCode is the trace whose bursts have bursts within them.
var ofCode = [2]string{"code", "azure2023_code.csv.gz"}

// redrawn returns by what shares the p99 of TTFT and ITL are off under the arrivals of a half, as recorded but at the
// rate of the half that is left out, with lengths drawn anew from that one: how near a law can be expected to come that
// knows all of these arrivals.
func (h *half) redrawn(t *testing.T, arrivals traces.Options) (ttft, itl float64) {
	read := func(o traces.Options) (all []sim.Request) {
		trace, err := traces.Open(h.path, o)
		require.NoError(t, err)
		defer trace.Close()
		for r := (sim.Request{}); trace.Next(&r); {
			all = append(all, r)
		}
		return all
	}
	sent, from := read(arrivals), read(h.options)
	s, err := configs.Load("chat-8b", configs.Options{})
	require.NoError(t, err)
	f, err := NewFit(h.leftOut, 1)
	require.NoError(t, err)
	require.NoError(t, f.Judge(t.Context(), Deployment{Scenario: "chat-8b"}, h.path, h.options, nil))
	span := sent[len(sent)-1].Arrival.Sub(sent[0].Arrival).Seconds()
	stretch := span / float64(len(sent)-1) * float64(h.leftOut.RatePerS)
	var all []*metrics.Summary
	for seed := range uint64(seedsOfFit) {
		path := filepath.Join(t.TempDir(), "redrawn.csv")
		draws, rows := rng.Stream(seed, "traffic.redrawn"), "arrival_s,input_tokens,output_tokens\n"
		for i := range sent {
			r := &from[draws.IntN(len(from))]
			rows += fmt.Sprintf("%.6f,%d,%d\n", sent[i].Arrival.Sub(sent[0].Arrival).Seconds()/stretch, r.Prompt, r.Output)
		}
		require.NoError(t, os.WriteFile(path, []byte(rows), 0o644))
		w := configs.Workload{Trace: &configs.Trace{File: path, Speed: 1}}
		one, err := simulate(t.Context(), s, w, f.Verdict.Replicas, s.Seed, func(float64, float64) {})
		require.NoError(t, err)
		all = append(all, one)
	}
	whole, err := simulate(t.Context(), s, configs.Workload{Trace: &configs.Trace{File: h.path, Speed: 1,
		StartS: h.options.StartS, EndS: h.options.EndS}}, f.Verdict.Replicas, s.Seed, func(float64, float64) {})
	require.NoError(t, err)
	return shares(rowsOf(whole, all))
}

// shares returns by what shares the p99 of TTFT and ITL of a fit are off.
func shares(rows []VerdictRow) (ttft, itl float64) {
	of := func(metric string) float64 {
		i := slices.IndexFunc(rows, func(r VerdictRow) bool { return r.Metric == metric })
		return float64(rows[i].Fit/rows[i].Trace) - 1
	}
	return of("TTFT p99"), of("ITL p99")
}

// off returns by what shares the p99 of TTFT and ITL under a law are off those under the half that is left out. The law
// has the rate and the lengths of that half, so that arrivals alone differ.
func (h *half) off(t *testing.T, law GapLaw) (ttft, itl float64) {
	f, err := NewFit(h.leftOut, 1)
	require.NoError(t, err)
	law.Arrivals.Rate = float64(h.leftOut.RatePerS)
	f.block.Arrivals = &law.Arrivals
	require.NoError(t, f.Judge(t.Context(), Deployment{Scenario: "chat-8b"}, h.path, h.options, nil))
	return shares(f.Verdict.Rows)
}

// TestBurstsWithinBurstsStandForHalvesLeftOut: gaps that are burstier than exponential within the states of a process
// are tried because of the trace of code, whose longest ITLs come from seconds that are busier than their burst. A law
// that was fitted to either half is then within 15 % on the other, and about twice as near as one without. Arrivals as
// they were recorded, with lengths drawn anew, are no nearer to the first half: within 12 %.
func TestBurstsWithinBurstsStandForHalvesLeftOut(t *testing.T) {
	soak.TakesLong(t)
	for _, h := range halves(t, ofCode) {
		require.Equal(t, "on-off", h.with.Process)
		require.Greater(t, h.with.CV, 1.0)
		_, with := h.off(t, h.with)
		_, without := h.off(t, h.without)
		t.Logf("%s: ITL p99 %+.3f, without %+.3f", h.name, with, without)
		assert.Less(t, math.Abs(with), 0.15, h.name)
		assert.Less(t, math.Abs(with), 0.55*math.Abs(without), h.name)
	}
}

// TestTheDocumentationHasTheHalvesLeftOut: the table of docs/workloads.md.
func TestTheDocumentationHasTheHalvesLeftOut(t *testing.T) {
	if os.Getenv("DECODESIM_SOAK") == "" {
		t.Skip("simulates sixteen fits: make published")
	}
	rows := [][]string{{"half left out", "", "0.1 s", "1 s", "10 s", "crowd p90", "crowd p99", "TTFT p99", "ITL p99"}}
	number := func(n stats.Number) string { return text.Significant(float64(n)) }
	for _, h := range halves(t, ofCode, [2]string{"conv", "azure2023_conv.csv.gz"},
		[2]string{"reasoning", "servegen_reason_r1_30min.csv.gz"},
		[2]string{"Mooncake", "mooncake_fast25_conversation.jsonl.gz"}) {
		s := h.leftOut
		rows = append(rows, []string{h.name, "the trace", number(s.Tenths), number(s.Dispersion[0].Index),
			number(s.Dispersion[1].Index), number(s.Crowd.P90), number(s.Crowd.P99), "", ""})
		for i, name := range []string{"its arrivals, lengths drawn anew", "arrivals of the other half"} {
			ttft, itl := h.redrawn(t, []traces.Options{h.options, h.other}[i])
			rows = append(rows, []string{"", name, "", "", "", "", "", text.SignedPercent(100 * ttft),
				text.SignedPercent(100 * itl)})
		}
		for _, law := range []GapLaw{h.without, h.with} {
			ttft, itl := h.off(t, law)
			rows = append(rows, []string{"", law.name(), number(law.Tenths), number(law.Dispersion[0].Index),
				number(law.Dispersion[1].Index), number(law.Crowd.P90), number(law.Crowd.P99),
				text.SignedPercent(100 * ttft), text.SignedPercent(100 * itl)})
		}
	}
	p := text.NewPage(false)
	p.Table(rows)
	page, err := os.ReadFile("../../docs/workloads.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(page), p.String()), "this is the table:\n%s", p.String())
}

// TestOneBurstMakesTheLongestITLsOfTheCodeTrace: the fit to all of it has an ITL p99 that is a half of the trace's.
// Without the twelve seconds of one burst, which have a 20th of the requests, the trace itself has it.
func TestOneBurstMakesTheLongestITLsOfTheCodeTrace(t *testing.T) {
	soak.TakesLong(t)
	dir := os.Getenv("DECODESIM_SHARED")
	if dir == "" {
		t.Skip("DECODESIM_SHARED names no folder of traces")
	}
	path := filepath.Join(dir, "workloads", ofCode[1])
	f, err := FitTo(t.Context(), path, traces.Options{}, Deployment{Scenario: "chat-8b"}, nil)
	require.NoError(t, err)
	_, itl := shares(f.Verdict.Rows)
	assert.InDelta(t, -0.45, itl, 0.05)

	trace, err := traces.Open(path, traces.Options{})
	require.NoError(t, err)
	defer trace.Close()
	rows, left, all := "arrival_s,input_tokens,output_tokens\n", 0, 0
	for r := (sim.Request{}); trace.Next(&r); all++ {
		if at := r.Arrival.Sub(0).Seconds(); at < 855 || at >= 867 {
			rows += fmt.Sprintf("%.6f,%d,%d\n", at, r.Prompt, r.Output)
			continue
		}
		left++
	}
	assert.InDelta(t, 1./20, float64(left)/float64(all), 0.003)
	without := filepath.Join(t.TempDir(), "without.csv")
	require.NoError(t, os.WriteFile(without, []byte(rows), 0o600))
	replicas := fmt.Sprintf("pools.serve.replicas=%d", f.Verdict.Replicas)
	same := Deployment{"chat-8b", configs.Options{Set: []string{replicas}}, true}
	require.NoError(t, f.Judge(t.Context(), same, without, traces.Options{}, nil))
	_, itl = shares(f.Verdict.Rows)
	assert.InDelta(t, 0, itl, 0.12, "the same fit, beside the rest of the trace")
}
