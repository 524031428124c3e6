package measured

import "fmt"

// What can have been measured: beyond it, a unit was mistaken, and errors in percent would say nothing.
const (
	latencyMsMax = 1e9 // eleven days
	ratePerSMax  = 1e12
)

// MeasuredMax is the most that a value of the metric can be, in milliseconds or per second.
func (m Metric) MeasuredMax() float64 {
	if m.perSecond() {
		return ratePerSMax
	}
	return latencyMsMax
}

func (m Metric) perSecond() bool { return m == OutputPerS || m == RequestsPerS || m == Rate }

// Accepted says which values of the metric are read.
func (m Metric) Accepted() string {
	if m.perSecond() {
		return "a number per second above 0, up to 1e12"
	}
	return "milliseconds above 0, up to 1e9"
}

// CheckPlausible refuses a file with a value that cannot have been measured, wherever in it the value was read or added
// up from.
func (f *File) CheckPlausible() error {
	for i := range f.Runs {
		for j := range f.Runs[i].Rows {
			row := &f.Runs[i].Rows[j]
			for _, v := range row.Values {
				if !(v.Measured <= v.Metric.MeasuredMax()) {
					return fmt.Errorf("%s: %s: %s: %g; expected %s", f.Path, row.ID, v.Name, v.Measured, v.Metric.Accepted())
				}
			}
		}
	}
	return nil
}
