// Package points reads the table that a user writes of a few measured points: the load, what was measured, and as much
// of the deployment as the user cares to say.
package points

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
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// Points are a user's own measurements, one a row: the load, what was measured, and as much of the deployment as the
// user cares to write; the rest is a scenario's.
func Points() datafile.Schema {
	var measured []string
	for _, c := range pointColumns() {
		measured = append(measured, c.name)
	}
	return datafile.Schema{
		Name: "points",
		About: "a table of your own (CSV with concurrency or rate, prompt_tokens, output_tokens, and any of ttft_ms, " +
			"tpot_ms, itl_ms, e2e_ms, output_tokens_per_s)",
		Columns: []string{"concurrency|rate", "prompt_tokens", "output_tokens", strings.Join(measured, "|")},
		Read:    readPoints,
	}
}

// pointColumn is a column with a measured value.
type pointColumn struct {
	name  string
	value measured.Value
}

// pointColumns are all of them: a metric's own name is its mean.
func pointColumns() []pointColumn {
	var all []pointColumn
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.ITL, measured.E2E} {
		all = append(all, pointColumn{m.String() + "_ms", measured.Lead(m, measured.Mean, 0)})
		for _, s := range []measured.Stat{measured.P50, measured.P90, measured.P95, measured.P99, measured.Max} {
			all = append(all, pointColumn{m.String() + "_" + s.String() + "_ms", measured.Other(m, s, 0)})
		}
	}
	return append(all, pointColumn{"output_tokens_per_s", measured.Lead(measured.OutputPerS, measured.Mean, 0)},
		pointColumn{"requests_per_s", measured.Lead(measured.RequestsPerS, measured.Mean, 0)})
}

// poolColumns are the arguments of a pool that a row may give, by the keys of a scenario: all that are one value. Those
// of the engine go by the names that it has for them, or by those that every engine has.
func poolColumns() []string {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[configs.Pool]()) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		kind := f.Type.Kind()
		if _, short := reflect.New(f.Type).Interface().(strict.Shorthand); short {
			kind = reflect.String
		}
		switch kind {
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
		if e, err := catalog.Engine(name); err == nil && slices.Contains(e.Keys(), key) && e.Own(key) != key &&
			!slices.Contains(names, e.Own(key)) {
			names = append(names, e.Own(key))
		}
	}
	return names
}

// pointKeys are all other columns that are read.
var pointKeys = []string{
	"id", "concurrency", "rate", "prompt_tokens", "output_tokens", "requests", "duration_s", "model", "weights",
	"kv_cache", "gpu", "engine",
}

// Requests of a row that does not say how many were sent.
const (
	requestsPerClient = 10
	requestsAtRate    = 300
)

func readPoints(s *datafile.Source, f *measured.File) error {
	f.Notes = append(f.Notes, fmt.Sprintf("every request of a row has its prompt_tokens and output_tokens; latencies "+
		"are means; a row that does not say how many requests were sent has %d per client, all clients starting at once, "+
		"or %d Poisson arrivals",
		requestsPerClient, requestsAtRate))
	if err := checkColumns(s.Table, f); err != nil {
		return err
	}
	if err := s.Table.OneRowPerID(); err != nil {
		return err
	}
	for i, id := range s.RunIDs(len(s.Table.Rows)) {
		r := s.Table.Record(i)
		run := pointRun(r, cmp.Or(r.Text("id"), id))
		if r.Err != nil {
			return r.Err
		}
		f.Runs = append(f.Runs, run)
	}
	return nil
}

// checkColumns refuses columns that look measured and are not read, and notes the others that are not.
func checkColumns(t *datafile.Table, f *measured.File) error {
	known := slices.Concat(pointKeys, poolColumns())
	var values, unread []string
	for _, c := range pointColumns() {
		values = append(values, c.name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
		switch {
		case slices.Contains(known, name), slices.Contains(values, name):
		case strings.HasSuffix(name, "_ms"), strings.HasSuffix(name, "_per_s"):
			return fmt.Errorf("%s:%d: %s: no such column; expected some of %s", t.Path, t.Header, name,
				strings.Join(values, ", "))
		default:
			unread = append(unread, strconv.Quote(name))
		}
	}
	if unread != nil {
		f.Notes = append(f.Notes, "columns that are not read: "+strings.Join(unread, ", "))
	}
	return nil
}

func pointRun(r *datafile.Record, id string) measured.Run {
	run := measured.Run{ID: id, Labels: measured.Labels{Source: "points"}}
	row := measured.Row{ID: id, Request: -1}
	for _, c := range pointColumns() {
		row.Values = r.Value(row.Values, c.value, c.name, "a number above 0, or nothing")
	}
	if len(row.Values) == 0 {
		r.Err = cmp.Or(r.Err, fmt.Errorf("%s:%d: nothing was measured; expected a value in one of the columns that are",
			r.Path, r.Line))
	}
	run.Rows = []measured.Row{row}
	a := setup.Load{Prompt: pointTokens(r, "prompt_tokens"), Output: pointTokens(r, "output_tokens")}
	pointArrivals(r, &a)
	a.Label(&run.Labels)
	head, skip := pointDeployment(r, &run.Labels)
	run.Skip = skip
	if skip != "" || r.Err != nil {
		return run
	}
	run.Over = head + a.Overlay()
	if run.Labels.Model != "" && run.Labels.GPU != "" {
		run.Scenario = run.Over
	}
	return run
}

func pointTokens(r *datafile.Record, column string) setup.Counts {
	if r.Text(column) == "" {
		r.Fail(column, "a whole number of tokens")
	}
	return setup.Counts{Mean: float64(r.Count(column, 1))}
}

// pointArrivals reads the load: concurrency or rate, one of them.
func pointArrivals(r *datafile.Record, a *setup.Load) {
	_, closed := r.Optional("concurrency")
	rate, open := r.Optional("rate")
	switch {
	case closed == open:
		r.Fail("concurrency", "either a concurrency or a rate")
		return
	case closed:
		a.Clients = r.Count("concurrency", 1)
		a.Requests = requestsPerClient * a.Clients
	case rate <= 0:
		r.Fail("rate", "requests/s above 0")
	case rate > measured.RequestsPerS.MeasuredMax():
		r.Fail("rate", measured.RequestsPerS.Accepted())
	default:
		a.Rate, a.Requests = rate, requestsAtRate
	}
	if seconds, ok := r.Optional("duration_s"); ok {
		a.Seconds, a.Requests = seconds, 0
	}
	if r.Text("requests") != "" {
		a.Requests = r.Count("requests", 1)
	}
}

// pointDeployment writes what a row says of its deployment as keys of a scenario, or says why it is not simulated.
func pointDeployment(r *datafile.Record, l *measured.Labels) (over, skip string) {
	var top, pool []string
	add := func(to *[]string, key, value string) {
		if value != "" {
			*to = append(*to, key+": "+yamlText(value))
		}
	}
	if name := r.Text("model"); name != "" {
		l.Model, skip = names.PublishedName(name)
		if skip != "" && strings.HasSuffix(name, ".json") {
			l.Model, skip = name, ""
		}
		add(&top, "model", l.Model)
	}
	if name := r.Text("gpu"); name != "" && skip == "" {
		l.GPU, skip = names.PublishedGPU(name)
		add(&pool, "gpu", l.GPU)
	}
	if skip != "" {
		return "", skip
	}
	weights := r.Text("weights")
	if _, listed := names.Models()[l.Model]; listed && weights == "" { // the catalog's name no longer says it
		weights = catalog.WeightsOf(l.Model, catalog.PrecisionInName(r.Text("model")))
	}
	add(&top, "weights", weights)
	add(&top, "kv_cache", r.Text("kv_cache"))
	l.Precision = weights
	if name := r.Text("engine"); name != "" {
		engine := setup.Scenario{Engine: names.EngineOf(name)}
		l.Engine = engine.Engine
		switch {
		case slices.Contains(catalog.EngineNames(), name):
			add(&pool, "engine", name)
		case !slices.Contains(names.EnginesModelled, l.Engine):
			return "", names.DidYouMean("engine "+name+" is not modelled", l.Engine,
				slices.Concat(catalog.EngineNames(), names.EnginesModelled))
		default:
			add(&pool, "engine", cmp.Or(engine.SchedulingEngine(), "vllm-v1"))
		}
	}
	for _, key := range poolColumns() {
		add(&pool, key, r.Text(key))
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
