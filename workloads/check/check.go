// Package check refuses values that no workload can use, by the field that they are in.
package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// TokensMax is the longest prompt or output: the sum of the two fits the int32 in which a request counts its tokens.
const TokensMax = 1<<30 - 1

// RequestsMax is the most requests of a run: their ids are int32.
const RequestsMax = 1<<31 - 1

// Refusal says that the value of a field cannot be used, and what could.
type Refusal struct {
	Field    string // the key below workload in a scenario
	Value    string
	Accepted string
}

// Error names the field, the value, and what is accepted.
func (r *Refusal) Error() string {
	return fmt.Sprintf("workloads: %s is %s; accepted: %s", r.Field, r.Value, r.Accepted)
}

// Refuse returns a Refusal of the value of a field.
func Refuse(field string, value any, accepted string) error {
	text := fmt.Sprint(value)
	if s, ok := value.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	return &Refusal{Field: field, Value: text, Accepted: accepted}
}

// Under puts the field of a refusal under a path; another error stays as it is.
func Under(path string, err error) error {
	if r, ok := err.(*Refusal); ok {
		below := *r
		below.Field = path + "." + r.Field
		return &below
	}
	return err
}

// Within refuses a number outside [lo, hi]. NaN is outside every interval.
func Within(field string, v, lo, hi float64) error {
	if v >= lo && v <= hi {
		return nil
	}
	return Refuse(field, v, fmt.Sprintf("a number from %.10g to %.10g", lo, hi))
}

// Above refuses a number outside (lo, hi].
func Above(field string, v, lo, hi float64) error {
	if v > lo && v <= hi {
		return nil
	}
	return Refuse(field, v, fmt.Sprintf("a number above %.10g and at most %.10g", lo, hi))
}

// Count refuses a whole number outside 1 to most.
func Count(field string, n, most int64) error {
	if n >= 1 && n <= most {
		return nil
	}
	return Refuse(field, n, fmt.Sprintf("a whole number from 1 to %d", most))
}

// Absent refuses a value that is set although its owner has no such parameter, so that none is ignored in silence.
func Absent(field, owner string, set bool, value any) error {
	if !set {
		return nil
	}
	return Refuse(field, value, "null, for "+owner+" has no such parameter")
}

// OneOf refuses a name that is not in the list.
func OneOf(field, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return Refuse(field, name, strings.Join(names, ", "))
}

// Extent checks what ends a source: a number of requests, a duration, or both.
func Extent(requests int64, durationS float64) error {
	switch {
	case requests < 0 || requests > RequestsMax:
		return Count("requests", requests, RequestsMax)
	case requests == 0 && durationS == 0:
		return Refuse("requests", 0, "a number of requests, a duration_s, or both")
	case durationS == 0:
		return nil
	}
	return Above("duration_s", durationS, 0, sim.HorizonS)
}

// Parameters refuses the fields of a specification that are set although its owner does not have them. Fields are named
// by their YAML keys.
func Parameters(path, owner string, specification any, keys ...string) error {
	v := reflect.ValueOf(specification)
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if slices.Contains(keys, key) {
			continue
		}
		if err := Absent(path+"."+key, owner, !v.Field(i).IsZero(), v.Field(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}
