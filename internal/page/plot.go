package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Plot is curves in a frame. Hovering shows their values; cursors of plots with the same Sync move together.
type Plot struct {
	Title  string  `json:"title"`
	Note   string  `json:"note,omitempty"`
	X      Axis    `json:"x"`
	Y      Axis    `json:"y"`
	Curves []Curve `json:"curves"`
	Limits []Limit `json:"limits,omitempty"`
	Bands  []Band  `json:"bands,omitempty"` // tinted, such as when the SLO was broken
	Sync   string  `json:"sync,omitempty"`
	Low    bool    `json:"low,omitempty"` // half as high: one of several above each other
}

// Axis is a scale. A log axis can be switched to a linear one in the browser, and a linear axis that may be Log the
// other way.
type Axis struct {
	Name string   `json:"name"`
	Kind Kind     `json:"kind,omitempty"`
	Log  bool     `json:"log,omitempty"`
	Min  *float64 `json:"min,omitempty"` // nil: of the values
	Max  *float64 `json:"max,omitempty"`
}

// Kind says how the numbers of an axis are printed.
type Kind string

// The kinds of numbers.
const (
	Count   Kind = ""        // 1,200
	Seconds Kind = "seconds" // 14.2 ms
	Clock   Kind = "clock"   // 5:10
	Share   Kind = "share"   // 71 %
	USD     Kind = "usd"     // $1.20
)

// Curve is points in ascending order of X.
type Curve struct {
	Name   string   `json:"name"`
	X      Numbers  `json:"x"`
	Y      Numbers  `json:"y"`
	Labels []string `json:"labels,omitempty"` // of the points
	Step   bool     `json:"step,omitempty"`   // a value holds until the next
	Dots   bool     `json:"dots,omitempty"`   // points alone
	Dash   bool     `json:"dash,omitempty"`
	Tint   bool     `json:"tint,omitempty"` // the ground under it
	Mark   int      `json:"mark,omitempty"` // the point that stands out, from 1; 0: none
}

// Point is a dot with what it is.
type Point struct {
	X, Y  float64
	Label string
}

// Dots returns a curve of points alone, in order of X.
func Dots(name string, points []Point) Curve {
	c := Curve{Name: name, Dots: true}
	ascending := func(a, b Point) int { return cmp.Compare(a.X, b.X) }
	for _, p := range slices.SortedStableFunc(slices.Values(points), ascending) {
		c.X, c.Y, c.Labels = append(c.X, p.X), append(c.Y, p.Y), append(c.Labels, p.Label)
	}
	return c
}

// Limit is a line across a plot, such as that of an SLO.
type Limit struct {
	On    string  `json:"on"` // x or y
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// Band is a range of X.
type Band struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Numbers are values as a screen needs them: with six significant digits, and null for what is not known.
type Numbers []float64

// MarshalJSON implements json.Marshaler.
func (n Numbers) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, x := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, x, 'g', 6, 64)
	}
	return append(out, ']'), nil
}

// At returns a bound of an axis.
func At(x float64) *float64 { return &x }
