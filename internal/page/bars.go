package page

import "strconv"

// Bars are rows of segments on one scale: stacked, as what a latency is made of, or floating, as what a change does.
type Bars struct {
	Title string
	Parts []string // names of the colours
	Rows  []Bar
	Note  string
}

// Bar is a row.
type Bar struct {
	Label    string
	Segments []Segment
	Value    Cell
}

// Segment is from and to a share of the width.
type Segment struct {
	From, To float64
	Part     int    // of the parts, from 0
	Words    string // on hovering
}

// X returns where the segment begins, in thousandths of the width.
func (s Segment) X() string { return thousandths(s.From) }

// Width returns how wide it is, in thousandths.
func (s Segment) Width() string { return thousandths(s.To - s.From) }

func thousandths(share float64) string { return strconv.FormatFloat(1000*share, 'f', 1, 64) }
