package workloads

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// tokensMax is the longest prompt or output: the sum of the two fits the int32 in which a request counts its tokens.
const tokensMax = 1<<30 - 1

// requestsMax is the most requests of a run: their ids are int32.
const requestsMax = 1<<31 - 1

// refuse says that the value of field cannot be used and what could.
func refuse(field string, value any, accepted string) error {
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	return fmt.Errorf("workloads: %s is %v; accepted: %s", field, value, accepted)
}

// closed refuses v outside [lo, hi]. NaN is outside every interval.
func closed(field string, v, lo, hi float64) error {
	if v >= lo && v <= hi {
		return nil
	}
	return refuse(field, v, fmt.Sprintf("a number from %.10g to %.10g", lo, hi))
}

// above refuses v outside (lo, hi].
func above(field string, v, lo, hi float64) error {
	if v > lo && v <= hi {
		return nil
	}
	return refuse(field, v, fmt.Sprintf("a number above %.10g and at most %.10g", lo, hi))
}

// absent refuses a value that the chosen law does not have, so that none is ignored in silence.
func absent(field, owner string, set bool, value any) error {
	if !set {
		return nil
	}
	return refuse(field, value, "nothing, for "+owner+" has no such parameter")
}

// oneOf refuses a name that is not in the list.
func oneOf(field, name string, names []string) error {
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	return refuse(field, name, strings.Join(names, ", "))
}

// extent checks what bounds a source: a number of requests, a duration, or both.
func extent(requests int64, durationS float64) error {
	if requests < 0 || requests > requestsMax {
		return refuse("requests", requests, fmt.Sprintf("a whole number from 1 to %d", requestsMax))
	}
	if requests == 0 && durationS == 0 {
		return refuse("requests", 0, "a number of requests, a duration_s, or both")
	}
	if durationS == 0 {
		return nil
	}
	return above("duration_s", durationS, 0, sim.HorizonS)
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
