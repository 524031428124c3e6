package validation

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/plotter"
)

// cloud is the points of one colour, in seconds.
type cloud struct {
	name   string
	points plotter.XYs
	errors Errors
}

// cloudsMax is how many colours stay apart for the eye, besides that of rows of another quality.
const cloudsMax = 5

// cloudsOf parts the predictions by the first label that has several values, and returns those of other qualities
// apart.
func cloudsOf(v *Validation, metric string) (clouds []cloud, others cloud) {
	label := cloudLabel(v, metric)
	percents := map[string][]float64{}
	add := func(to *cloud, x *Value) {
		to.points = append(to.points, plotter.XY{X: x.Measured / x.per / 1e3, Y: *x.Predicted / x.per / 1e3})
		percents[to.name] = append(percents[to.name], *x.ErrorPct)
	}
	each(v, metric, func(r *Row, x *Value) {
		if !v.Headline(r) {
			add(&others, x)
			return
		}
		name := cmp.Or(label(&r.Labels), "predictions")
		i := slices.IndexFunc(clouds, func(c cloud) bool { return c.name == name })
		if i < 0 {
			i = len(clouds)
			clouds = append(clouds, cloud{name: name})
		}
		add(&clouds[i], x)
	})
	slices.SortStableFunc(clouds, func(a, b cloud) int {
		return cmp.Or(cmp.Compare(len(b.points), len(a.points)), cmp.Compare(a.name, b.name))
	})
	for len(clouds) > cloudsMax { // the smallest ones share a colour
		n := len(clouds)
		a, b := &clouds[n-2], &clouds[n-1]
		percents["others"] = append(percents[a.name], percents[b.name]...)
		clouds[n-2] = cloud{name: "others", points: append(a.points, b.points...)}
		clouds = clouds[:n-1]
	}
	for i := range clouds {
		clouds[i].errors = ErrorsOf(percents[clouds[i].name])
	}
	return clouds, others
}

func pointsOf(clouds []cloud) int {
	n := 0
	for _, c := range clouds {
		n += len(c.points)
	}
	return n
}

// each visits the predictions of a metric.
func each(v *Validation, metric string, visit func(*Row, *Value)) {
	for i := range v.Rows {
		for j := range v.Rows[i].Values {
			if x := &v.Rows[i].Values[j]; x.Metric == metric && x.Predicted != nil {
				visit(&v.Rows[i], x)
			}
		}
	}
}

// cloudLabel returns the label that tells most: the engine where there are several, else the GPU, the class, the model.
func cloudLabel(v *Validation, metric string) func(*Labels) string {
	labels := []func(*Labels) string{
		func(l *Labels) string { return l.Engine }, func(l *Labels) string { return l.GPU },
		func(l *Labels) string { return l.Class }, func(l *Labels) string { return l.Model },
	}
	for _, label := range labels {
		var names []string
		each(v, metric, func(r *Row, _ *Value) {
			if name := label(&r.Labels); v.Headline(r) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
		if len(names) > 1 {
			return label
		}
	}
	return labels[len(labels)-1]
}
