package explore

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
)

// explored returns a server of a built-in scenario.
func explored(t *testing.T, name string) *Server {
	t.Helper()
	text, ok := BuiltIn(name)
	require.True(t, ok)
	s, err := New(text, nil, "test")
	require.NoError(t, err)
	return s
}

// get asks a server, and reads its answer into x.
func get(t *testing.T, s *Server, target string, x any, headers ...string) int {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8010"+target, nil)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if x != nil && w.Code == http.StatusOK {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), x), w.Body.String())
	}
	return w.Code
}

// TestTheScenarioOfAStateHasItsNumbers: the YAML that the page copies, run as any other, has the summary that the page
// shows, and says what the controls say.
func TestTheScenarioOfAStateHasItsNumbers(t *testing.T) {
	for query, want := range map[string]func(s *configs.Scenario) any{
		"requests=200": func(s *configs.Scenario) any { return s.Workload.Requests == 200 },
		"requests=200&gpu=h200-sxm&bandwidth=2&tp=2&weights=fp8&rate=20": func(s *configs.Scenario) any {
			p := s.Pools[0]
			return p.GPU.From == "h200-sxm" && *p.GPU.BandwidthBps == 2*4.8e12 && p.TensorParallel == 2 && s.Weights == "fp8" &&
				s.Workload.Arrivals.Rate == 20
		},
		"requests=200&prompt=512&output=64&drafts=3&acceptance=0.8": func(s *configs.Scenario) any {
			return s.Workload.PromptTokens.Mean == 512 && s.Workload.OutputTokens.Mean == 64 && s.Speculation.Tokens == 3 &&
				s.Speculation.Acceptance.Rate == .8
		},
		"requests=200&prefill=1&replicas=2&batch=8&context=100": func(s *configs.Scenario) any {
			return len(s.Pools) == 2 && s.Pools[0].Role == "prefill" && s.Pools[0].Replicas == 1 && s.Pools[1].Replicas == 2
		},
		"requests=200&kv=fp8&engine=sglang": func(s *configs.Scenario) any {
			return s.KVCache == "fp8" && s.Pools[0].Engine == "sglang"
		},
		"requests=200&scenario=batch-70b&engine=vllm-v0": func(s *configs.Scenario) any {
			return s.Pools[0].Engine == "vllm-v0"
		},
		"requests=200&scenario=pd-70b&prefill=0&replicas=3": func(s *configs.Scenario) any {
			return len(s.Pools) == 1 && s.Pools[0].Role == "serve" && s.Pools[0].Replicas == 3
		},
		"requests=200&scenario=pd-70b&prefill=3": func(s *configs.Scenario) any {
			return len(s.Pools) == 2 && s.Pools[0].Replicas == 3 && s.Pools[1].Replicas == 2
		},
		"requests=200&scenario=eagle3-70b&drafts=off": func(s *configs.Scenario) any { return !s.Speculation.On() },
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			s := explored(t, "chat-8b")
			var step stepX
			require.Equal(t, 200, get(t, s, "/step?"+query, &step))
			require.Nil(t, step.Error)
			var ran struct{ Summary json.RawMessage }
			require.Equal(t, 200, get(t, s, "/run?"+query, &ran))
			loaded, err := configs.Load("-", configs.Options{Stdin: []byte(step.YAML)})
			require.NoError(t, err, step.YAML)
			assert.Equal(t, true, want(loaded), step.YAML)
			b, err := build.New(loaded)
			require.NoError(t, err)
			defer b.Close()
			again, err := run.Simulate(t.Context(), b, run.Options{Version: "test"})
			require.NoError(t, err)
			text, err := json.Marshal(again.Summary)
			require.NoError(t, err)
			assert.JSONEq(t, string(text), string(ran.Summary))
		})
	}
}

func TestAStepIsThatOfExplain(t *testing.T) {
	var got struct {
		YAML        string
		Explanation json.RawMessage
	}
	require.Equal(t, 200, get(t, explored(t, "chat-8b"), "/step?batch=32&context=4096&weights=fp8", &got))
	batch, context := 32, 4096
	step, err := explain.New(t.Context(), explain.Question{Scenario: "-",
		Options: configs.Options{Stdin: []byte(got.YAML)},
		Batch:   &batch, Context: &context})
	require.NoError(t, err)
	x, err := step.Explain()
	require.NoError(t, err)
	want, err := json.Marshal(x)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got.Explanation))
}

// TestTheFirstSentenceSaysWhoseBatchItIs: a full one is not that of the load, which stands beside the latencies.
func TestTheFirstSentenceSaysWhoseBatchItIs(t *testing.T) {
	s := explored(t, "chat-8b")
	for query, want := range map[string]string{
		"":                  "A step of a full batch, 361 sequences with 1,260 tokens each, takes ",
		"batch=64":          "A step of 64 sequences with 1,260 tokens each takes ",
		"batch=1&context=1": "A step of 1 sequence with 1 token each takes ",
	} {
		var x stepX
		require.Equal(t, 200, get(t, s, "/step?"+query, &x), query)
		assert.Equal(t, want+text.Duration(x.Explanation.StepS)+", "+text.Significant(x.Explanation.StepS/
			x.Explanation.BoundS)+" × its bound of "+text.Duration(x.Explanation.BoundS)+", which reading memory sets.",
			x.Answer)
	}
}

// TestDraftsAreOfTheStepToo: what the plots leave out is said beside them, and what it makes of the step.
func TestDraftsAreOfTheStepToo(t *testing.T) {
	s := explored(t, "chat-8b")
	var plain, drafted stepX
	get(t, s, "/step?batch=64", &plain)
	get(t, s, "/step?batch=64&drafts=3&acceptance=0.8", &drafted)
	assert.NotContains(t, plain.Answer, "drafts")
	v := drafted.Explanation.Speculation
	assert.Equal(t, "2.95", text.Significant(v.TokensPerStep))
	assert.True(t, strings.HasSuffix(drafted.Answer, " With drafts it takes "+text.Duration(v.StepS)+
		" and yields 2.95 tokens of each: "+text.Significant(v.SpeedUp)+" × the tokens/s."), drafted.Answer)
	assert.Equal(t, "context 1,260, batches that fit; without drafts", drafted.Batches.Note)
	get(t, s, "/step?batch=1024&context=32768&drafts=3", &drafted)
	assert.Equal(t, "context 32,768, batches that fit and this step's, which does not; without drafts",
		drafted.Batches.Note)
}

// TestEveryBuiltInScenarioCanBeExplored: without a change, and as it is.
func TestEveryBuiltInScenarioCanBeExplored(t *testing.T) {
	s := explored(t, "chat-8b")
	for _, name := range configs.ScenarioNames() {
		var x stepX
		require.Equal(t, 200, get(t, s, "/step?scenario="+name, &x), name)
		assert.Nil(t, x.Error, name)
		original, err := configs.Load(name, configs.Options{})
		require.NoError(t, err)
		loaded, err := configs.Load("-", configs.Options{Stdin: []byte(x.YAML)})
		require.NoError(t, err, name)
		if original.Workload.Trace == nil {
			assert.LessOrEqual(t, loaded.Workload.Requests, int64(requestsUsual), name)
		}
		loaded.Workload.Requests, loaded.Workload.Precision = original.Workload.Requests, original.Workload.Precision
		loaded.Workload.WarmupS = original.Workload.WarmupS
		assert.Equal(t, string(original.YAML()), string(loaded.YAML()), name)
	}
}

// TestARunSaysWhatItsNumbersAreWorth: what became of the SLO, of the run or of each class, what it costs, and what a
// reader must know to trust the rest.
func TestARunSaysWhatItsNumbersAreWorth(t *testing.T) {
	s := explored(t, "chat-8b")
	for query, want := range map[string][]factX{
		"requests=2000&rate=100":           {{"SLO met", "0 %", "TTFT ≤ 300 ms and TPOT ≤ 25 ms"}},
		"requests=2000&rate=1":             {{"SLO met", "> 99.9 %", "TTFT ≤ 300 ms and TPOT ≤ 25 ms"}},
		"requests=100&scenario=wide-ep-r1": {{"SLO met", "", "TTFT ≤ 3 s and TPOT ≤ 50 ms"}},
		"requests=200&scenario=two-classes-8b": {{"SLO of interactive met", "", "TTFT ≤ 500 ms and TPOT ≤ 50 ms"},
			{"SLO of batch met", "", "E2E ≤ 600 s"}},
		"requests=200&scenario=coding-agents-480b": {{"SLO", "", "task p95 <= 400s: "}, {"SLO", "", "ttft p95 <= 2s: "}},
	} {
		var x runX
		require.Equal(t, 200, get(t, s, "/run?"+query, &x), query)
		batch := "none"
		if mean := x.Summary.Pools[len(x.Summary.Pools)-1].BatchMean; mean > 0 {
			batch = text.Significant(mean)
		}
		assert.Equal(t, factX{"Batch", batch, "sequences that decode in a step, on average"}, x.Facts[5], query)
		facts := x.Facts[6:]
		require.Len(t, facts, len(want)+1, query)
		for i, w := range want {
			assert.Equal(t, w.Name, facts[i].Name, query)
			assert.True(t, w.Value == "" || w.Value == facts[i].Value, "%s: %s", query, facts[i].Value)
			assert.True(t, strings.HasPrefix(facts[i].Note, w.Note), "%s: %s", query, facts[i].Note)
		}
		assert.Equal(t, "Cost", facts[len(want)].Name)
		growing := strings.Contains(strings.Join(x.Summary.Warnings, " "), "still growing")
		assert.Equal(t, strings.Contains(query, "rate=100"), growing, query)
	}
}

func TestAnImpossibleStateIsSaidAtItsControl(t *testing.T) {
	s := explored(t, "chat-8b")
	for query, want := range map[string][2]string{
		"model=llama-3.1-70b":               {"tp", "does not fit on 1 × h100-sxm"},
		"tp=3":                              {"tp", "3 does not divide the 32 attention heads"},
		"batch=100000":                      {"batch", "do not fit"},
		"context=900000":                    {"context", "has a context of 131072 tokens"},
		"model=/etc/passwd":                 {"model", "expected a value that is offered"},
		"gpu=../../x.yaml":                  {"gpu", "expected a value that is offered"},
		"scenario=/etc/passwd":              {"scenario", "is not built in"},
		"rate=NaN":                          {"rate", "expected a number from"},
		"rate=1e999":                        {"rate", "expected a number from"},
		"requests=99999999":                 {"requests", "expected a whole number from 100 to 10000"},
		"requests=1e3":                      {"requests", "expected digits alone"},
		"rate=1&rate=2":                     {"rate", "is given twice"},
		"drafts=%3Cscript%3E":               {"drafts", "expected a value that is offered"},
		"seed=1":                            {"", "has no control"},
		"scenario=multi-turn-8b&x=1":        {"", "has no control"},
		"replicas=0":                        {"replicas", "expected a whole number from 1 to 1024"},
		"scenario=lpu-70b&model=qwen2.5-7b": {"model", "has only 28 layers"},
		"scenario=kv-tiers-8b&engine=orca":  {"engine", "kv_tiers"},
		"model=glm-5&gpu=groq-lpu&engine=sglang&tp=8": {"engine", "mem_fraction_static"},
	} {
		var x stepX
		require.Equal(t, 200, get(t, s, "/step?"+query, &x), query)
		require.NotNil(t, x.Error, query)
		assert.Equal(t, want[0], x.Error.Control, "%s: %s", query, x.Error.Message)
		assert.Contains(t, x.Error.Message, want[1], query)
		assert.NotContains(t, x.Error.Message, "stdin", query)
		assert.Len(t, x.Controls, len(controls()), query)
		if want[0] != "batch" && want[0] != "context" {
			var ran runX
			require.Equal(t, 200, get(t, s, "/run?"+query, &ran), query)
			require.NotNil(t, ran.Error, query)
		}
	}
}

// TestWhatAControlHasNoPlaceForIsSaid: a scenario with sizes of its own keeps them.
func TestWhatAControlHasNoPlaceForIsSaid(t *testing.T) {
	s := explored(t, "two-classes-8b")
	var x stepX
	require.Equal(t, 200, get(t, s, "/step", &x))
	nots := 0
	for _, c := range x.Controls {
		moved := s.own.scenario
		for _, known := range controls() {
			if known.key == c.Key && known.not != nil {
				assert.Equal(t, known.not(moved), c.Not)
			}
		}
		if c.Not != "" && c.Key != "acceptance" { // which drafts would turn on
			nots++
			var refused stepX
			require.Equal(t, 200, get(t, s, "/step?"+c.Key+"="+c.Values[len(c.Values)-1], &refused))
			require.NotNil(t, refused.Error)
			assert.Equal(t, &refusal{c.Key, c.Not}, refused.Error)
		}
	}
	assert.Positive(t, nots)
}

// TestTheUnitOfOneIsSingular: every slider that may stand at 1 of something has the word for one.
func TestTheUnitOfOneIsSingular(t *testing.T) {
	single := map[string]string{}
	for _, c := range controls() {
		noun, _, _ := strings.Cut(c.unit, " ")
		if !c.choice && c.low <= 1 && strings.HasSuffix(strings.TrimSuffix(noun, ","), "s") && noun != "requests/s" {
			single[c.key] = c.single
		}
	}
	assert.Equal(t, map[string]string{"tp": "GPU", "batch": "sequence", "context": "token each",
		"prompt": "token, mean", "output": "token, mean"}, single)
}

func TestOnlyThisMachineIsAnswered(t *testing.T) {
	s := explored(t, "chat-8b")
	for _, path := range []string{"/", "/step", "/run"} {
		assert.Equal(t, http.StatusForbidden, get(t, s, path, nil, "Host", "evil.example"), path)
		assert.Equal(t, http.StatusForbidden, get(t, s, path, nil, "Host", "127.0.0.1.evil.example:8010"), path)
	}
	for _, path := range []string{"/step", "/run"} {
		assert.Equal(t, http.StatusForbidden, get(t, s, path, nil, "Sec-Fetch-Site", "cross-site"), path)
	}
	for _, host := range []string{"localhost:8010", "[::1]:8010", "127.0.0.1"} {
		assert.Equal(t, 200, get(t, s, "/", nil, "Host", host), host)
	}
	assert.Equal(t, 404, get(t, s, "/etc/passwd", nil))
	assert.Equal(t, http.StatusRequestURITooLong, get(t, s, "/step?x="+strings.Repeat("a", queryMost), nil))
	assert.Equal(t, http.StatusBadRequest, get(t, s, "/step?x=%zz", nil))
	assert.Equal(t, http.StatusBadRequest, get(t, s, "/run?tab="+strings.Repeat("a", tabMost+1), nil))
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/step", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// TestANewerRunEndsTheOlder of the same page, and not that of another.
func TestANewerRunEndsTheOlder(t *testing.T) {
	s := explored(t, "chat-8b")
	older, end := s.begin(t.Context(), "one")
	defer end()
	other, endOther := s.begin(t.Context(), "two")
	defer endOther()
	newer, endNewer := s.begin(t.Context(), "one")
	require.Error(t, older.Err())
	require.NoError(t, newer.Err())
	require.NoError(t, other.Err())
	_, err := simulate(older, url.Values{}, s.own, "test")
	require.Error(t, err)
	end() // the older one leaves the newer one its place
	require.Len(t, s.under, 2)
	endNewer()
	require.Len(t, s.under, 1)
}

// TestARunThatWaitsForASlotGivesWay without one.
func TestARunThatWaitsForASlotGivesWay(t *testing.T) {
	s := explored(t, "chat-8b")
	for range runsMost {
		s.slots <- struct{}{}
	}
	status := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/run?tab=a", nil))
		status <- w.Code
	}()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.under["a"] != nil
	}, 10e9, 1e6)
	_, end := s.begin(t.Context(), "a")
	defer end()
	assert.Equal(t, http.StatusConflict, <-status)
	assert.Len(t, s.slots, runsMost)
}

// TestValuesAreOfferedInOrder, that of the scenario among them.
func TestValuesAreOfferedInOrder(t *testing.T) {
	var x stepX
	require.Equal(t, 200, get(t, explored(t, "chat-8b"), "/step?rate=5.5", &x))
	for _, c := range x.Controls {
		assert.Contains(t, c.Values, c.Value, c.Key)
		assert.Contains(t, c.Values, c.Initial, c.Key)
		if c.Choice {
			continue
		}
		last := -1.0
		for _, v := range c.Values {
			n, err := strconv.ParseFloat(v, 64)
			require.NoError(t, err)
			assert.Greater(t, n, last, c.Key)
			last = n
		}
	}
}

// TestAFirstPictureIsOfFewRequests: it says so, and its numbers are those of a run of so many. Where it would be no
// shorter, where a trace is replayed and where the run itself says what is wrong, there is none.
func TestAFirstPictureIsOfFewRequests(t *testing.T) {
	s := explored(t, "chat-8b")
	var early, few, all runX
	require.Equal(t, 200, get(t, s, "/first?rate=6&tab=a", &early))
	require.Equal(t, 200, get(t, s, "/run?rate=6&requests=100", &few))
	require.Equal(t, 200, get(t, s, "/run?rate=6", &all))
	assert.Equal(t, few.Summary, early.Summary)
	assert.NotEqual(t, all.Summary, early.Summary)
	assert.Regexp(t, `^A first picture, of 100 requests: ITL p50 .* A run of 2,000 is on its way\.$`, early.Answer)
	for _, query := range []string{"requests=199", "tp=3", "scenario=none", "model=llama-3.1-405b"} {
		var none runX
		require.Equal(t, 200, get(t, s, "/first?"+query, &none), query)
		assert.Equal(t, runX{}, none, query)
	}
}
