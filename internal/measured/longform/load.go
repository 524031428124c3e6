package longform

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// How arrivals are written.
const (
	atOnce      = "all at t=0"
	staticBatch = "one static batch"
	oneRequest  = "one request"
	closedLoop  = "closed loop"
	poisson     = "poisson"
)

const arrivalsAccepted = `"poisson", "closed loop N", "all at t=0", "one static batch" or "one request", with ` +
	`"; N requests" behind it where they were counted`

const separatePools = "prefill and decode on separate pools, which these columns do not describe"

// Requests of a server that does not say how many it got: those of the ten minutes that MLPerf runs at least, as far as
// a simulation of seconds has them. Its load generator goes on to the end of a pass over the dataset, for all samples
// have to be sent equally often (mlcommons-loadgen 5.1.2 and 6.0.17: min_duration and sample_concatenate_permutation of
// mlperf.conf; loadgen.cc, lines 401 to 407).
const (
	windowS     = 600
	requestsMax = 250_000
)

// requestsOf returns how many requests a server of a benchmark gets at a rate; one of no benchmark has no dataset.
func requestsOf(b benchmark, rate float64) float64 {
	requests := windowS * rate
	if b.samples > 0 {
		passes := math.Ceil(requests / float64(b.samples))
		requests = passes * float64(b.samples)
	}
	return requests
}

// replicasMax is how many replicas of one system are simulated: those of a larger one are alike, each with its share of
// the requests.
const replicasMax = 8

// load is what a row says of its requests.
type load struct {
	prompt, output float64
	dataset        bool // the prompts are of one
	batch          int  // sequences that run together; 0: not stated
	sequences      int  // that the engine may run together in an attention rank; 0: its default
	clients        int  // of a closed loop; 0: an open one
	requests       int
	rate           float64
	steps          bool // no requests: single steps are priced
}

func (l *load) name() string {
	prompt := fmt.Sprintf("%.0f", l.prompt)
	if l.dataset {
		prompt = "dataset"
	}
	return fmt.Sprintf("%s/%.0f", prompt, l.output)
}

// load reads a row's, or says why it is not modelled.
func (r *row) load(d *replica) (l load, skip string) {
	l.prompt, skip = r.tokens("isl")
	if r.Text("isl") == "dataset" {
		l.prompt, l.dataset = float64(r.benchmark(d.Model).prompt), true
		skip = ""
		if l.prompt == 0 {
			skip = "isl: a dataset whose prompts are not known"
		}
		r.took.dataset = r.took.dataset || l.prompt > 0
	}
	if skip != "" {
		return l, skip
	}
	l.output, skip = r.tokens("osl")
	if r.Text("osl") == "" && (r.kind == prefill || r.kind == decodeStep) {
		l.output, skip = 1, ""
	}
	if skip != "" {
		return l, skip
	}
	l.batch = r.optionalCount("concurrency_or_batch")
	if skip := r.arrivals(&l, d); skip != "" || r.Err != nil {
		return l, skip
	}
	if d.pools && !l.steps {
		return l, separatePools
	}
	return l, ""
}

// tokens reads a length. A text in its place is what nobody can simulate, and no error.
func (r *row) tokens(column string) (n float64, skip string) {
	text := r.Text(column)
	if text == "" || text == "?" {
		return 0, column + " is not stated"
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("%s %q is no number of tokens", column, text)
	case !(x >= 1 && x <= 1e9):
		r.Fail(column, "tokens from 1 to 1e9")
	}
	return x, ""
}

var counted = regexp.MustCompile(`; *([0-9?]+) (?:requests|prompts)$`)

// arrivals reads when requests come.
func (r *row) arrivals(l *load, d *replica) (skip string) {
	text := strings.ToLower(r.Text("arrivals"))
	if m := counted.FindStringSubmatch(text); m != nil && m[1] != "?" {
		l.requests, _ = strconv.Atoi(m[1])
		if l.requests < 1 {
			r.Fail("arrivals", arrivalsAccepted)
			return ""
		}
	}
	head, _, _ := strings.Cut(text, ";")
	head = strings.Replace(strings.TrimSpace(head), "closed-loop", closedLoop, 1)
	switch {
	case head == "" && r.Text("offered_rps") == "":
		return r.unsaid(l)
	case head == poisson, head == "":
		return r.poisson(l, d)
	case head == staticBatch, head == oneRequest, strings.HasPrefix(head, atOnce+" (batch"):
		return r.together(l, head)
	case head == atOnce:
		return r.atOnce(l, d)
	case strings.HasPrefix(head, closedLoop):
		return r.closed(l, strings.TrimSpace(strings.TrimPrefix(head, closedLoop)))
	}
	return fmt.Sprintf("arrivals %q are not modelled; they are %s", r.Text("arrivals"), arrivalsAccepted)
}

// unsaid is a row without arrivals: a stream by itself, or a step.
func (r *row) unsaid(l *load) string {
	switch r.kind {
	case decodeStep, prefill:
		l.steps = true
		if l.batch == 0 && r.kind == decodeStep {
			return "concurrency_or_batch is not stated"
		}
		return ""
	case oneStream:
		return r.closed(l, "1")
	}
	return "arrivals are not stated; they are " + arrivalsAccepted
}

func (r *row) poisson(l *load, d *replica) string {
	rate, ok := r.Optional("offered_rps")
	switch {
	case !ok:
		return "offered_rps is not stated"
	case !(rate > 0 && rate <= 1e9):
		r.Fail("offered_rps", "requests/s above 0, up to 1e9")
	}
	l.rate, l.sequences = rate, l.batch
	if l.requests > 0 {
		return ""
	}
	r.took.requests = true
	requests, share := requestsOf(r.benchmark(d.Model), rate), 1.0
	if d.replicas > replicasMax {
		d.simulated, r.took.replicas = replicasMax, true
		share = replicasMax / float64(d.replicas)
	}
	l.rate *= share
	l.requests = int(min(requestsMax, max(1, math.Round(requests*share))))
	return ""
}

// together is a batch that is sent at once and runs to its end. The first token of one that no server took in has no
// way through a server either, so its prefill is priced as a step.
func (r *row) together(l *load, head string) string {
	if head == oneRequest {
		l.batch = 1
	}
	if l.batch == 0 {
		return "concurrency_or_batch is not stated"
	}
	if r.kind == prefill {
		l.steps = true
		return ""
	}
	l.clients, l.requests = l.batch, l.batch
	return ""
}

// atOnce is a finite list of requests that are all there at the start. Filling and draining the batch are inside the
// time that is measured, so their number matters: of a row that does not state it, it is that of another row of the
// same source with the same lengths.
func (r *row) atOnce(l *load, d *replica) string {
	if r.kind == prefill && r.metric.name == "input_tokens_per_s" && l.output == 1 {
		l.steps, l.batch = true, 0 // one full step of prompts after another, which nothing decodes beside
		return ""
	}
	if l.requests == 0 {
		l.requests = r.counts[r.countKey()]
		r.took.counts = r.took.counts || l.requests > 0
	}
	if samples := r.benchmark(d.Model).samples; l.requests == 0 && samples > 0 {
		l.requests, d.simulated = samples, 1 // each replica has as many
	}
	if l.requests == 0 {
		return "how many requests there were is not stated, as in \"all at t=0; 1000 requests\""
	}
	l.clients = l.requests
	l.sequences, l.batch = l.batch, 0
	return ""
}

func (r *row) closed(l *load, clients string) string {
	n, err := strconv.Atoi(clients)
	switch {
	case clients == "" && l.batch > 0:
		n = l.batch
	case err != nil:
		return fmt.Sprintf("arrivals %q are not modelled; they are %s", r.Text("arrivals"), arrivalsAccepted)
	case n < 1:
		r.Fail("arrivals", arrivalsAccepted)
		return ""
	}
	l.clients = n
	if l.requests == 0 {
		l.requests = 10 * n
	}
	return ""
}

// stepTokensStated is the limit of a step among the notes, as engines call it.
var stepTokensStated = regexp.MustCompile(`\bmax_num_(?:batched_)?tokens (\d+)`)

// limitStep sets the tokens of a step. An engine that ran prompts longer than its limit ran them in chunks. One whose
// limit is not stated had one that its prompts fit beside a batch of decodes: the tools that publish throughputs choose
// it by the prompts.
func (r *row) limitStep(l *load, d *replica) {
	prompt := int(math.Round(l.prompt))
	if m := stepTokensStated.FindStringSubmatch(r.Text("notes")); m != nil {
		limit, _ := strconv.Atoi(m[1])
		d.Argument("max_num_batched_tokens", limit)
		if prompt > limit {
			d.Argument("enable_chunked_prefill", true)
		}
		l.sequences = min(l.sequences, limit) // of a token each fill the step
		return
	}
	if d.Engine == "tensorrt-llm" && prompt+trtBatch > trtStepTokens {
		d.Argument("max_num_batched_tokens", prompt+trtBatch)
	}
}

// What TensorRT-LLM takes by itself for max_num_tokens and max_batch_size; it does not divide prompts by itself.
const (
	trtStepTokens = 8192
	trtBatch      = 2048
)

// write adds the load to a scenario.
func (l *load) write(d *replica) {
	if d.simulated > 1 {
		d.Arguments = append(d.Arguments, fmt.Sprintf("replicas: %d", d.simulated))
	}
	d.Argument("max_num_seqs", l.sequences)
	if l.rate > 0 {
		d.AddWorkload("arrivals: {process: poisson, rate: %s}", setup.Number(l.rate))
		d.AddWorkload("requests: %d", l.requests)
	} else {
		d.ClosedLoop(l.clients, l.requests)
	}
	d.Lengths(int(math.Round(l.prompt)), int(math.Round(l.output)), 1)
}

// lengthen raises the context of a model that was run with longer sequences than it was made for, as models with
// rotary positions can be.
func (r *row) lengthen(l *load, d *replica) {
	longest := int(math.Round(l.prompt) + math.Round(l.output))
	if model, known := names.Models()[d.Model]; known && longest > model.ContextMax {
		d.Model = fmt.Sprintf("{config: %s, override: {context: %d}}", d.Model, longest)
		r.took.longer = true
	}
}

// countKey names the rows of a source that have the same lengths.
func (r *row) countKey() string {
	return strings.Join([]string{r.Text("source"), r.Text("isl"), r.Text("osl")}, "|")
}

// statedCounts returns how many requests rows had, by countKey; the least where they differ.
func statedCounts(t *datafile.Table) (map[string]int, error) {
	counts := map[string]int{}
	for i := range t.Rows {
		r := row{Record: t.Record(i)}
		m := counted.FindStringSubmatch(strings.ToLower(r.Text("arrivals")))
		if m == nil || !strings.HasPrefix(strings.ToLower(r.Text("arrivals")), atOnce) || m[1] == "?" {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 {
			r.Fail("arrivals", arrivalsAccepted)
			return nil, r.Err
		}
		if key := r.countKey(); counts[key] == 0 || n < counts[key] {
			counts[key] = n
		}
	}
	return counts, nil
}
