package build

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// drawsWhatItMay requires that a run draws no less than idling and no more than its data sheets allow, that phases add
// up to all of it, and that a rent divides into what is paid for prompts and for outputs.
func drawsWhatItMay(t *rapid.T, s *metrics.Summary, text string) {
	e := s.Energy
	require.NotNil(t, e, text)
	const host, pue, idle = 50, 1.2, 0.17
	gpus := e.TDPW / 700 // no fewer than there are: an A100 draws less
	require.GreaterOrEqual(t, e.MeanW, pue*idle*e.TDPW*(1-1e-9), text)
	require.LessOrEqual(t, e.MeanW, pue*(e.TDPW+host*gpus*700/400)*(1+1e-9), text)
	p := &e.ByPhase
	require.InDelta(t, e.KWh, p.Idle+p.Prefill+p.Decode+p.Host, 1e-9*e.KWh, text)
	require.InDelta(t, 400*e.KWh, e.GCO2, 1e-9*e.GCO2, text)
	if s.Cost == nil {
		return
	}
	require.LessOrEqual(t, s.Cost.IdleUSDPerHour, s.Cost.USDPerHour*(1+1e-9), text)
	require.GreaterOrEqual(t, s.Cost.IdleUSDPerHour, 0.0, text)
	if x := s.Cost.Split; x != nil {
		require.GreaterOrEqual(t, x.InputShare, 0.0, text)
		require.LessOrEqual(t, x.InputShare, 1.0, text)
		paid := x.USDPerMillionInputTokens*float64(s.Tokens.Prompt) + x.USDPerMillionOutputTokens*float64(s.Tokens.Output)
		nowS := 3.6e6 * e.KWh / e.MeanW
		require.InDelta(t, s.Cost.USDPerHour/3600*nowS*1e6, paid, 1e-6*paid, text)
	}
}

func energyOf(t *testing.T, text string) *metrics.Summary {
	t.Helper()
	s, err := configs.Read("energy", []byte(text), configs.Options{})
	require.NoError(t, err)
	b, err := New(s)
	require.NoError(t, err)
	f := &metrics.Full{}
	config := b.Config
	config.Sink = f
	c, err := sim.New(config)
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	return f.Summary(b.Describe("test", c.Totals().Arrived))
}

// sparse is two requests of 100 tokens, an hour apart at most, on a replica of two GPUs.
const sparse = `
model: llama-3.1-8b
pools: [{gpu: {from: h100-sxm, tdp_w: 1000}, tensor_parallel: 2, engine: textbook}]
workload:
  closed_loop: {concurrency: 1, think_time_s: 100}
  prompt_tokens: {distribution: fixed, mean: 1000}
  output_tokens: {distribution: fixed, mean: 2}
  requests: 50
`

func TestAnIdleReplicaDrawsItsIdlePower(t *testing.T) {
	s := energyOf(t, sparse+"energy: {idle: 0.1, decode: 0.1, prefill: 0.1, host_w: 30, pue: 1.5, usd_per_kwh: 0.2}\n")
	e := s.Energy
	assert.InEpsilon(t, 1.5*(2*100+2*30), e.MeanW, 1e-3, "steps at their bound draw more, for a moment")
	assert.InEpsilon(t, 2000, e.TDPW, 1e-9)
	assert.InEpsilon(t, e.MeanW/1000*0.2, e.USDPerHour, 1e-9)
	assert.InEpsilon(t, e.KWh*3.6e6/50, e.JPerRequest, 1e-9)
	assert.InEpsilon(t, e.KWh*3.6e6/100, e.JPerOutputToken, 1e-9)
	assert.Zero(t, e.GCO2, "no grid was named")
	assert.Contains(t, e.Model, "10 % of tdp_w while idle", "the model of power is stated")
	assert.Contains(t, e.Model, "as the scenario says")
	usual := energyOf(t, sparse+"energy: {}\n")
	assert.Contains(t, usual.Energy.Model, "17 % of tdp_w while idle, 100 % in steps with prompts, 26 % in decodes")
	assert.Contains(t, usual.Energy.Model, "splitwise-sim")
}

// TestStepsAtTheirBoundDrawAll: the textbook's steps take what the data sheet allows, so that decodes draw all of the
// power and prompts what they are said to.
func TestStepsAtTheirBoundDrawAll(t *testing.T) {
	s := energyOf(t, sparse+"energy: {idle: 0, decode: 0.2, prefill: 0.5}\n")
	steps := 50 * s.Latency.ITL.Mean
	assert.InEpsilon(t, 2000*steps, 3.6e6*s.Energy.ByPhase.Decode, 0.35)
	assert.LessOrEqual(t, 3.6e6*s.Energy.ByPhase.Decode, 2000*steps*(1+1e-6))
	assert.Zero(t, s.Energy.ByPhase.Idle)
}

func TestPowerThatNobodyStatesIsNoNumber(t *testing.T) {
	s := energyOf(t, `
model: llama-3.1-8b
pools: [{gpu: tpu-v6e}]
energy: {pue: 1.1}
workload: {requests: 20, arrivals: {process: poisson, rate: 1}, prompt_tokens: {distribution: fixed, mean: 10},
  output_tokens: {distribution: fixed, mean: 10}}
`)
	assert.Nil(t, s.Energy)
	assert.Contains(t, strings.Join(s.Warnings, "; "), "no energy: no source states the power of gpu tpu-v6e")
}

func TestReplicasArePaidAtTheirPrice(t *testing.T) {
	s := energyOf(t, `
model: llama-3.1-8b
pools: [{gpu: {from: h100-sxm, price_per_hour: 4}, replicas: 5, reserved_replicas: 2, reserved_price_per_hour: 2,
  spot_replicas: 1, spot_price_per_hour: 1}]
workload: {requests: 100, arrivals: {process: poisson, rate: 5}, prompt_tokens: {distribution: fixed, mean: 100},
  output_tokens: {distribution: fixed, mean: 10}}
`)
	assert.InEpsilon(t, 2*2+2*4+1, s.Cost.USDPerHour, 1e-9)
	assert.InEpsilon(t, 4.0, s.Cost.ReservedUSDPerHour, 1e-9)
	assert.InEpsilon(t, 1.0, s.Cost.SpotUSDPerHour, 1e-9)
	assert.InEpsilon(t, 13*(1-s.Pools[0].Utilization), s.Cost.IdleUSDPerHour, 1e-9)
}

// TestOnlySpotReplicasAreTakenBack: of three replicas the last one is spot, and it alone fails.
func TestOnlySpotReplicasAreTakenBack(t *testing.T) {
	text := `
model: llama-3.1-8b
pools: [{gpu: {from: h100-sxm, price_per_hour: 4}, replicas: 3, spot_replicas: 1, spot_price_per_hour: 1}]
random_failures: [{pool: serve, mtbf_s: 5, mttr_s: 20, spot: true}]
workload: {requests: 500, arrivals: {process: poisson, rate: 5}, prompt_tokens: {distribution: fixed, mean: 100},
  output_tokens: {distribution: fixed, mean: 10}}
`
	s := energyOf(t, text)
	up := s.Pools[0].ReplicasMean
	assert.Less(t, up, 2.9, "it fails")
	assert.Greater(t, up, 2.0, "the others do not")
	assert.InEpsilon(t, 2*4+(up-2), s.Cost.USDPerHour, 1e-9, "it is paid while it is up")
}

// TestMeasuredPowerOfA100s compares the model of power with runs of Llama-2-70B, whose time in each phase was measured
// too. The constants were fitted to them and to others; the data are not ours to copy.
func TestMeasuredPowerOfA100s(t *testing.T) {
	file, err := os.Open(filepath.Join(os.Getenv("DECODESIM_SHARED"), "groundtruth", "F_splitwise_perf.csv"))
	if os.Getenv("DECODESIM_SHARED") == "" || err != nil {
		t.Skip("no measurements: DECODESIM_SHARED names no folder that has them")
	}
	defer func() { require.NoError(t, file.Close()) }()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	at := func(row []string, column string) float64 {
		x, _ := strconv.ParseFloat(row[slices.Index(rows[0], column)], 64)
		return x
	}
	const weightBytes, bandwidthBps, tokens = 2 * 69e9, 2.039e12, 128
	power := powerOf(&configs.Energy{Idle: 0.17, Decode: 0.26, Prefill: 1}, 1, 1)
	var errors []float64
	for _, row := range rows[1:] {
		measured := at(row, "average_power_frac_tdp")
		if measured == 0 || at(row, "prompt_size") > 1024 { // longer prompts often ended with their first token
			continue
		}
		prompt, step := at(row, "prompt_time_ms_mean")/1000, at(row, "token_time_ms_mean")/1000
		busy := prompt + (tokens-1)*step
		j := power.Joules(&sim.PoolTotals{UpS: busy, BusyS: busy, Phases: sim.PhaseTotals{PrefillS: prompt,
			DecodeBoundS: (tokens - 1) * weightBytes / at(row, "tp") / bandwidthBps}})
		errors = append(errors, math.Abs((j.Prefill+j.Decode)/busy/measured-1))
	}
	slices.Sort(errors)
	t.Logf("%d runs: %.1f %% in the median, %.1f %% at most", len(errors), 100*errors[len(errors)/2],
		100*errors[len(errors)-1])
	require.Len(t, errors, 16)
	assert.Less(t, errors[len(errors)/2], 0.06)
	assert.Less(t, errors[len(errors)-1], 0.17)
}
