package main

import (
	"context"
	"errors"
	"slices"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// occupiedClients is from how many clients on it is worth asking how full a server is.
const occupiedClients = 32

// occupied simulates the runs whose servers counted how full they were, those with as many clients and requests once.
func occupied(ctx context.Context, sets catalog.Sets, files []*measured.File) ([]page.Occupied, error) {
	with := func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency {
		return sets.On(&run.Labels, d)
	}
	var out []page.Occupied
	for _, run := range countedRuns(files) {
		requests, clients := run.Occupied.Requests, run.Labels.Concurrency
		at := slices.IndexFunc(out, func(o page.Occupied) bool { return o.Clients == clients && o.Requests == requests })
		if at < 0 {
			o, skip := validation.Occupy(ctx, run, with)
			if skip != "" {
				return nil, errors.New(run.ID + ": " + skip)
			}
			at = len(out)
			out = append(out, page.Occupied{Clients: clients, Requests: requests, Simulated: o})
		}
		out[at].Add(run.Occupied)
	}
	return out, nil
}

// countedRuns are the runs that can be simulated and whose server had counters.
func countedRuns(files []*measured.File) (runs []*measured.Run) {
	for _, f := range files {
		for i := range f.Runs {
			if run := &f.Runs[i]; run.Skip == "" && run.Occupied.KVMax > 0 && run.Labels.Concurrency >= occupiedClients {
				runs = append(runs, run)
			}
		}
	}
	return runs
}
