package strict

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs/inputs"
)

// scalar fills v, a string, boolean or number, from n. The error says what was expected and what was there.
func scalar(n *yaml.Node, path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return text(n, v)
	case reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			return fmt.Errorf("expected true or false, got %s", Describe(n))
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, err := integer(n, -(1 << (v.Type().Bits() - 1)), 1<<(v.Type().Bits()-1)-1)
		v.SetInt(x)
		return err
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := natural(n, v.Type().Bits())
		v.SetUint(x)
		return err
	case reflect.Float32, reflect.Float64:
		x, err := number(n, mayBeInfinite(path))
		v.SetFloat(x)
		return err
	}
	panic("configs: no way to decode a " + v.Type().String())
}

// TextMax bounds a text, in bytes: a name, a path, a rule or a source. No path is longer on Linux (PATH_MAX, limits.h),
// and what is looked up, compared with all names and repeated in messages takes a time by its length.
const TextMax = 4096

func text(n *yaml.Node, v reflect.Value) error {
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		return fmt.Errorf("expected text, got %s", Describe(n))
	case n.Tag != "!!str" && n.Tag != "!!timestamp":
		return fmt.Errorf("expected text, got %s; quote it if it is meant", Describe(n))
	case len(n.Value) > TextMax:
		return fmt.Errorf("the text has %d bytes; expected at most %d", len(n.Value), TextMax)
	case !inputs.Printable(n.Value):
		return fmt.Errorf("%q has characters that do not print or that turn its direction; expected text without them",
			n.Value)
	case n.Value != "" && !inputs.Seen(n.Value):
		return fmt.Errorf("%q has no character that can be seen; expected text with some", n.Value)
	}
	v.SetString(n.Value)
	return nil
}

// decimal is the only way to write a number: YAML 1.1 reads 010 as 8 and 1:30 as 90.
var decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*|)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)

// digits returns the text of a decimal number.
func digits(n *yaml.Node, want string) (string, error) {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float":
		return "", fmt.Errorf("expected %s, got %s", want, Describe(n))
	case strings.ContainsAny(n.Value, "0123456789") && !decimal.MatchString(n.Value):
		return "", fmt.Errorf("expected %s in plain decimal digits, got %s", want, n.Value)
	}
	return n.Value, nil
}

// number reads a float; infinity only where it is asked for, NaN never.
func number(n *yaml.Node, infinite bool) (float64, error) {
	s, err := digits(n, "a number")
	if err != nil {
		return 0, err
	}
	if infinite && strings.EqualFold(strings.TrimPrefix(s, "+"), ".inf") {
		return math.Inf(1), nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, fmt.Errorf("expected a finite number, got %s", s)
	}
	return x, nil
}

// integer reads an integer in [low, high]; 1e5 is one.
func integer(n *yaml.Node, low, high int64) (int64, error) {
	s, err := digits(n, "an integer")
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		x, err = integral(s, 1<<63)
		if err != nil {
			return 0, err
		}
	}
	if x < low || x > high {
		return 0, fmt.Errorf("%s is out of range; expected an integer from %d to %d", s, low, high)
	}
	return x, nil
}

// natural reads an unsigned integer of so many bits.
func natural(n *yaml.Node, bits int) (uint64, error) {
	s, err := digits(n, "an integer")
	if err != nil {
		return 0, err
	}
	high := uint64(math.MaxUint64) >> (64 - bits)
	x, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
	if err != nil && strings.ContainsAny(s, ".eE") {
		var i int64
		i, err = integral(s, 1<<63)
		if err != nil {
			return 0, err
		}
		x, err = uint64(i), signError(i)
	}
	if err != nil || x > high {
		return 0, fmt.Errorf("%s is out of range; expected an integer from 0 to %d", s, high)
	}
	return x, nil
}

func signError(i int64) error {
	if i < 0 {
		return errors.New("negative")
	}
	return nil
}

// integral reads 1e5 and 2.0 as integers below limit in size.
func integral(s string, limit float64) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || math.Abs(f) >= limit:
		return 0, fmt.Errorf("%s is beyond the range of an integer", s)
	case err != nil || f != math.Trunc(f):
		return 0, fmt.Errorf("expected an integer, got %s", s)
	}
	return int64(f), nil
}

// mayBeInfinite names the one key whose limit is a meaning: an overlap of .inf is perfect.
func mayBeInfinite(path string) bool {
	return path == "overlap" || strings.HasSuffix(path, ".overlap")
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Describe names what a node is, for "expected …, got …".
func Describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + n.Value
	case n.Tag == "!!bool":
		return "the truth value " + n.Value
	case utf8.RuneCountInString(n.Value) > describedMax:
		return strconv.Quote(string([]rune(n.Value)[:describedMax])) + " …"
	default:
		return strconv.Quote(n.Value)
	}
}

// describedMax is how many characters of a text an error shows: a file of another kind is one text to its end.
const describedMax = 60
