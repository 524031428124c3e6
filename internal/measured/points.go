package measured

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

// points are a user's own measurements, one a row: the load, what was measured, and as much of the deployment as the
// user cares to write; the rest is a scenario's.
func points() schema {
	var measured []string
	for _, c := range pointColumns() {
		measured = append(measured, c.name)
	}
	return schema{
		name: "points",
		about: "a table of your own (CSV with concurrency or rate, prompt_tokens, output_tokens, and any of ttft_ms, tpot_ms, itl_ms, e2e_ms, " +
			"output_tokens_per_s)",
		columns: []string{"concurrency|rate", "prompt_tokens", "output_tokens", strings.Join(measured, "|")},
		read:    readPoints,
	}
}

// pointColumn is a column with a measured value.
type pointColumn struct {
	name  string
	value Value
}

// pointColumns are all of them: a metric's own name is its mean.
func pointColumns() []pointColumn {
	var all []pointColumn
	for _, m := range []Metric{TTFT, TPOT, ITL, E2E} {
		all = append(all, pointColumn{m.String() + "_ms", Lead(m, Mean, 0)})
		for _, s := range []Stat{P50, P90, P95, P99, Max} {
			all = append(all, pointColumn{m.String() + "_" + s.String() + "_ms", Other(m, s, 0)})
		}
	}
	return append(all, pointColumn{"output_tokens_per_s", Lead(OutputPerS, Mean, 0)}, pointColumn{"requests_per_s", Lead(RequestsPerS, Mean, 0)})
}

// poolColumns are the arguments of a pool that a row may give, by the keys of a scenario: all that are one value. Those of
// the engine go by the names that it has for them, or by those that every engine has.
func poolColumns() []string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[configs.Pool]()) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool, reflect.String:
			if !slices.Contains([]string{"", "name", "role", "gpu", "engine", "model"}, key) {
				keys = append(keys, key)
				keys = append(keys, ownNames(key)...)
			}
		}
	}
	return keys
}

// ownNames returns what engines call an argument that all have a key for, where that is another name.
func ownNames(key string) (names []string) {
	for _, name := range catalog.EngineNames() {
		if e, err := catalog.Engine(name); err == nil && slices.Contains(e.Keys(), key) && e.Own(key) != key && !slices.Contains(names, e.Own(key)) {
			names = append(names, e.Own(key))
		}
	}
	return names
}

// pointKeys are all other columns that are read.
var pointKeys = []string{
	"id", "concurrency", "rate", "prompt_tokens", "output_tokens", "requests", "duration_s", "model", "weights", "kv_cache", "gpu", "engine",
}

// Requests of a row that does not say how many were sent.
const (
	requestsPerClient = 10
	requestsAtRate    = 300
)

func readPoints(s *source, f *File) error {
	f.Notes = append(f.Notes, fmt.Sprintf("every request of a row has its prompt_tokens and output_tokens; latencies are means; a row that does "+
		"not say how many requests were sent has %d per client, all clients starting at once, or %d Poisson arrivals", requestsPerClient, requestsAtRate))
	if err := checkColumns(s.table, f); err != nil {
		return err
	}
	if err := s.table.oneRowPerID(); err != nil {
		return err
	}
	for i, id := range s.names(len(s.table.rows)) {
		r := s.table.record(i)
		run := pointRun(r, cmp.Or(r.text("id"), id))
		if r.err != nil {
			return r.err
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// checkColumns refuses columns that look measured and are not read, and notes the others that are not.
func checkColumns(t *table, f *File) error {
	known := slices.Concat(pointKeys, poolColumns())
	var values, unread []string
	for _, c := range pointColumns() {
		values = append(values, c.name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.columns)) {
		switch {
		case slices.Contains(known, name), slices.Contains(values, name):
		case strings.HasSuffix(name, "_ms"), strings.HasSuffix(name, "_per_s"):
			return fmt.Errorf("%s:%d: %s: no such column; expected some of %s", t.path, t.header, name, strings.Join(values, ", "))
		default:
			unread = append(unread, strconv.Quote(name))
		}
	}
	if unread != nil {
		f.Notes = append(f.Notes, "columns that are not read: "+strings.Join(unread, ", "))
	}
	return nil
}

func pointRun(r *record, id string) Run {
	run := Run{ID: id, Labels: Labels{Source: "points"}}
	row := Row{ID: id, Request: -1}
	for _, c := range pointColumns() {
		row.Values = r.value(row.Values, c.value, c.name, "a number above 0, or nothing")
	}
	if len(row.Values) == 0 {
		r.err = cmp.Or(r.err, fmt.Errorf("%s:%d: nothing was measured; expected a value in one of the columns that are", r.path, r.line))
	}
	run.Rows = []Row{row}
	a := asked{prompt: pointTokens(r, "prompt_tokens"), output: pointTokens(r, "output_tokens")}
	pointArrivals(r, &a)
	a.label(&run.Labels)
	head, skip := pointDeployment(r, &run.Labels)
	if run.Skip = skip; skip != "" || r.err != nil {
		return run
	}
	run.Over = head + a.over()
	if run.Labels.Model != "" && run.Labels.GPU != "" {
		run.Scenario = run.Over
	}
	return run
}

func pointTokens(r *record, column string) counts {
	if r.text(column) == "" {
		r.fail(column, "a whole number of tokens")
	}
	return counts{mean: float64(r.count(column, 1))}
}

// pointArrivals reads the load: concurrency or rate, one of them.
func pointArrivals(r *record, a *asked) {
	_, closed := r.optional("concurrency")
	rate, open := r.optional("rate")
	switch {
	case closed == open:
		r.fail("concurrency", "either a concurrency or a rate")
		return
	case closed:
		a.clients = r.count("concurrency", 1)
		a.requests = requestsPerClient * a.clients
	case rate <= 0:
		r.fail("rate", "requests/s above 0")
	case rate > ratePerSMax:
		r.fail("rate", RequestsPerS.accepted())
	default:
		a.rate, a.requests = rate, requestsAtRate
	}
	if seconds, ok := r.optional("duration_s"); ok {
		a.seconds, a.requests = seconds, 0
	}
	if r.text("requests") != "" {
		a.requests = r.count("requests", 1)
	}
}

// pointModel and pointGPU are names of the catalogs, or what is unknown about them and which ones a user perhaps meant.
func pointModel(written string) (name, unknown string) {
	if name, unknown = catalogModel(written); unknown != "" {
		short, _ := shortModel(written)
		unknown = didYouMean(unknown, short, slices.Concat(catalog.ModelNames(), slices.Sorted(maps.Keys(modelAliases))))
	}
	return name, unknown
}

func pointGPU(written string) (name, unknown string) {
	if name, unknown = catalogGPU(written); unknown != "" {
		unknown = didYouMean(unknown, shortGPU(written), slices.Concat(catalog.GPUNames(), slices.Sorted(maps.Keys(gpuAliases))))
	}
	return name, unknown
}

// pointDeployment writes what a row says of its deployment as keys of a scenario, or says why it is not simulated.
func pointDeployment(r *record, l *Labels) (over, skip string) {
	var top, pool []string
	add := func(to *[]string, key, value string) {
		if value != "" {
			*to = append(*to, key+": "+yamlText(value))
		}
	}
	if name := r.text("model"); name != "" {
		if l.Model, skip = pointModel(name); skip != "" && strings.HasSuffix(name, ".json") {
			l.Model, skip = name, ""
		}
		add(&top, "model", l.Model)
	}
	if name := r.text("gpu"); name != "" && skip == "" {
		l.GPU, skip = pointGPU(name)
		add(&pool, "gpu", l.GPU)
	}
	if skip != "" {
		return "", skip
	}
	weights := r.text("weights")
	if _, listed := models()[l.Model]; listed && weights == "" { // the catalog's name no longer says it
		weights = weightsOf(l.Model, precisionInName(r.text("model")))
	}
	add(&top, "weights", weights)
	add(&top, "kv_cache", r.text("kv_cache"))
	l.Precision = weights
	if name := r.text("engine"); name != "" {
		engine := setup{engine: engineOf(name)}
		l.Engine = engine.engine
		switch {
		case slices.Contains(catalog.EngineNames(), name):
			add(&pool, "engine", name)
		case !slices.Contains(enginesModelled, l.Engine):
			return "", didYouMean("engine "+name+" is not modelled", l.Engine, slices.Concat(catalog.EngineNames(), enginesModelled))
		default:
			add(&pool, "engine", cmp.Or(engine.scheduled(), "vllm-v1"))
		}
	}
	for _, key := range poolColumns() {
		add(&pool, key, r.text(key))
	}
	if len(top) > 0 {
		over = strings.Join(top, "\n") + "\n"
	}
	if len(pool) > 0 {
		over += "pools:\n  - " + strings.Join(pool, "\n    ") + "\n"
	}
	return over, ""
}

// yamlText writes a value of a table as YAML, in quotes unless it is a plain word or number.
func yamlText(value string) string {
	if regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]*$`).MatchString(value) {
		return value
	}
	return strconv.Quote(value)
}
