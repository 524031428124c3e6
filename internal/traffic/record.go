package traffic

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
)

// Record is what is kept of a stream of requests. Its memory grows with the seconds of the stream, the distinct lengths
// and the distinct contents, not with the requests.
type Record struct {
	prompts, outputs tally
	timed            bool // there are arrivals
	first, last      sim.Time
	perSecond        []uint32 // requests, from the first one on
	inTenth          int64    // requests of the present tenth of a second
	tenth            int64    // its number
	tenthSquares     float64  // of the requests of the tenths before
	gaps             moments
	logs             product
	tree             *sim.Contents // nil: prompts share nothing
	seen             []bool        // nodes of the tree
	reused           int64         // prompt tokens that some earlier prompt began with
}

// NewRecord returns the record of a stream with the given contents; nil: prompts share nothing, or nobody knows.
func NewRecord(timed bool, tree *sim.Contents) *Record {
	return &Record{prompts: newTally(), outputs: newTally(), timed: timed, tree: tree}
}

// Read records the requests of a source, up to a number of them; 0: all.
func (r *Record) Read(s sim.Source, most int64) {
	var q sim.Request
	for n := int64(0); most == 0 || n < most; n++ {
		q = sim.Request{}
		if !s.Next(&q) {
			return
		}
		r.Add(&q)
	}
}

// Add records a request, no earlier than the one before.
func (r *Record) Add(q *sim.Request) {
	r.prompts.add(q.Prompt)
	r.outputs.add(q.Output)
	r.logs.add(math.Log(float64(q.Prompt)), math.Log(float64(q.Output)))
	if r.timed {
		r.arrive(q.Arrival)
	}
	if r.tree != nil {
		r.share(q)
	}
}

func (r *Record) arrive(at sim.Time) {
	if r.prompts.n == 1 {
		r.first, r.last = at, at
	}
	r.gaps.add(at.Sub(r.last).Seconds(), r.prompts.n > 1)
	r.last = at
	second := int(at.Sub(r.first) / sim.Second)
	for len(r.perSecond) <= second {
		r.perSecond = append(r.perSecond, 0)
	}
	r.perSecond[second]++
	if tenth := int64(at.Sub(r.first) / (sim.Second / 10)); tenth > r.tenth {
		r.tenthSquares += float64(r.inTenth * r.inTenth)
		r.tenth, r.inTenth = tenth, 0
	}
	r.inTenth++
}

// dispersionOfTenths returns the variance over the mean of the requests in whole tenths of a second: 1 for Poisson
// arrivals. NaN: the stream has fewer than ten.
func (r *Record) dispersionOfTenths() float64 {
	n := float64(r.tenth)
	if r.tenth < windowsMin {
		return math.NaN()
	}
	mean := float64(r.prompts.n-r.inTenth) / n
	return (r.tenthSquares - float64(n*mean*mean)) / (n - 1) / mean
}

// share counts the tokens of a prompt that are in the content of an earlier one: what a cache without an end would
// spare.
func (r *Record) share(q *sim.Request) {
	for len(r.seen) < r.tree.Len() {
		r.seen = append(r.seen, false)
	}
	node := q.Content
	for node != 0 && !r.seen[node] {
		r.seen[node] = true
		node = r.tree.Parent(node)
	}
	r.reused += int64(min(q.Prompt, r.tree.Tokens(node)))
}

// spanS is the time from the first arrival to the last.
func (r *Record) spanS() float64 { return r.last.Sub(r.first).Seconds() }

// moments are the mean and the variance of a stream of numbers, by Welford's recurrence: B. P. Welford, "Note on a
// Method for Calculating Corrected Sums of Squares and Products", Technometrics 4 (1962).
type moments struct {
	n          int64
	mean, sums float64
}

func (m *moments) add(x float64, counts bool) {
	if !counts {
		return
	}
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.sums += float64(d * (x - m.mean))
}

func (m *moments) cv() float64 {
	if m.n < 2 || m.mean == 0 {
		return math.NaN()
	}
	return math.Sqrt(m.sums/float64(m.n)) / m.mean
}

// product is how two numbers of a stream go together.
type product struct{ n, x, y, xx, yy, xy float64 }

func (p *product) add(x, y float64) {
	p.n, p.x, p.y = p.n+1, p.x+x, p.y+y
	p.xx += float64(x * x)
	p.yy += float64(y * y)
	p.xy += float64(x * y)
}

// correlation is Pearson's.
func (p *product) correlation() float64 {
	vx, vy := p.xx-p.x*p.x/p.n, p.yy-p.y*p.y/p.n
	if vx <= 1e-9*p.xx || vy <= 1e-9*p.yy {
		return math.NaN()
	}
	return (p.xy - p.x*p.y/p.n) / math.Sqrt(vx*vy)
}

// windowsMin is how many windows a variance of their counts needs.
const windowsMin = 10

// dispersion returns the variance over the mean of the requests in windows of so many seconds: 1 for Poisson arrivals,
// whatever their rate. NaN: fewer than ten windows.
func (r *Record) dispersion(seconds int) float64 {
	counts := r.windows(seconds)
	if len(counts) < windowsMin {
		return math.NaN()
	}
	mean, sum := 0.0, 0.0
	for _, c := range counts {
		mean += c // whole numbers, so that equal ones differ from their mean by nothing at all
	}
	mean /= float64(len(counts))
	for _, c := range counts {
		sum += float64((c - mean) * (c - mean))
	}
	return sum / float64(len(counts)-1) / mean
}

// Crowd is how many requests come in the second of a request, itself among them.
type Crowd struct {
	P90 stats.Number `json:"p90"` // of the requests, which is no busiest second of one run
	P99 stats.Number `json:"p99"`
}

// crowd returns the crowd of a stream with arrivals.
func (r *Record) crowd() Crowd {
	counts, n := slices.Sorted(slices.Values(r.perSecond)), 0.0
	at := func(share float64) stats.Number {
		seen := 0.0
		for _, c := range counts {
			seen += float64(c)
			if seen >= share*n {
				return stats.Number(c)
			}
		}
		return stats.Number(math.NaN())
	}
	for _, c := range counts {
		n += float64(c)
	}
	return Crowd{P90: at(0.9), P99: at(0.99)}
}

// windows returns the requests of each whole window of so many seconds.
func (r *Record) windows(seconds int) []float64 {
	var counts []float64
	for from := 0; from+seconds <= len(r.perSecond); from += seconds {
		sum := 0.0
		for _, c := range r.perSecond[from : from+seconds] {
			sum += float64(c)
		}
		counts = append(counts, sum)
	}
	return counts
}
