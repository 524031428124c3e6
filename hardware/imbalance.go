package hardware

import (
	"fmt"
	"math"
	"slices"
)

// Routing is how tokens spread over the experts of a layer, and what an engine does about it.
type Routing struct {
	// Skew is the coefficient of variation of the experts' popularity; 0: each expert is as likely as any other.
	Skew float64
	// Balanced says that experts are placed by their load, as EPLB does; otherwise they stay where they are.
	Balanced bool
	// Redundant is how many experts of a layer a balanced placement has twice, or more often.
	Redundant int
}

// routing is how much of a layer's experts so many tokens touch: of all, and on the GPU that has most to do. A layer
// waits for that GPU, so its mean over layers is what counts.
//
// Each token picks k of E experts. Of the m experts of a GPU, among G, tokens touch a share a on average,
//
//	a = mean over experts of 1 − (1 − p·k/E)^tokens           p the popularity of an expert, 1 on average
//
// and the busiest GPU touches
//
//	a + e · √v / m,    v = m·a·(1 − a) + m·(q² − q₂)            q = 1 − a
//
// where v is by how much GPUs vary around what all of them touch together: q₂ is the chance that neither of two experts
// is touched, so that q² − q₂ is what picks without repetition, k by each token, take from the others. e is the mean of
// the greatest of G independent binomials of m and a, in their standard deviations. Where experts are placed by their
// load, GPUs have equal sets of popular and unpopular ones, and v lacks m times the variance of the touched share among
// them. Rows are as uneven as the shares of G GPUs in tokens·k picks, and no less so than experts,
//
//	1 + e₀ · √(s²/m + G/(tokens·k) · (E − k)/(E − 1))
//
// with s the skew, without its term where experts are placed by load, and e₀ the mean of the greatest of G normal
// numbers. Simulated routing agrees within 2 %, see imbalance_test.go.
type routing struct {
	touched []float64 // share of all experts that are touched, by tokens; nil: as by Deployment.active
	busiest []float64 // of its own experts, share that the busiest GPU touches, by tokens; nil: as all

	waits          float64 // share of the excess of the busiest GPU that layers wait for
	greatest       float64 // e₀; 0: rows are even
	skewed, picked float64 // the terms of rows: their variance at many tokens, and times one token
}

// routedMax is from how many tokens on all experts count as touched as by so many.
const routedMax = 2048

// redundantMax bounds how many redundant experts a layer may have.
const redundantMax = 1 << 12

func (d *Deployment) validateRouting() error {
	r, e := &d.Routing, d.Model.Experts()
	switch gpus := d.Parallel.expertGPUs(); {
	case !(r.Skew >= 0 && r.Skew <= 10):
		return fmt.Errorf("hardware: expert_skew %g; expected 0 to 10", r.Skew)
	case r.Skew > 0 && e == 0:
		return fmt.Errorf("hardware: expert_skew %g, but %s has no experts; accepted: null", r.Skew, d.Model.Name)
	case r.Redundant < 0 || r.Redundant > redundantMax:
		return fmt.Errorf("hardware: num_redundant_experts %d; expected 0 to %d", r.Redundant, redundantMax)
	case r.Balanced && (!d.Parallel.Expert || gpus < 2):
		return fmt.Errorf("hardware: enable_eplb true places whole experts on several GPUs; " +
			"accepted: false, or expert_parallel true on more than one GPU")
	case r.Redundant > 0 && !r.Balanced:
		return fmt.Errorf("hardware: num_redundant_experts %d without enable_eplb; accepted: 0", r.Redundant)
	case r.Redundant > 0 && (e+r.Redundant)%gpus != 0:
		return fmt.Errorf("hardware: num_redundant_experts %d and the %d experts of %s are not a multiple of %d GPUs; "+
			"accepted: %d", r.Redundant, e, d.Model.Name, gpus, ceilDiv(e+r.Redundant, gpus)*gpus-e)
	}
	return nil
}

// newRouting tabulates how tokens touch the experts of d.
func newRouting(d *Deployment) *routing {
	r := &routing{}
	if d.Model.TopK() == d.Model.Experts() { // none, or a token touches all of them
		return r
	}
	r.waits = d.Efficiency.ExpertImbalance
	if d.Routing != (Routing{}) {
		r.waits = 1
	}
	spread := d.Parallel.Expert && d.Parallel.expertGPUs() > 1 && r.waits > 0
	usual := d.usualSkew()
	if d.Routing == (Routing{}) && !spread && usual == 0 {
		return r
	}
	likely := *d
	likely.Routing.Skew = max(d.Routing.Skew, usual)
	loads := likely.popularity()
	if len(loads) > 1 {
		r.touched = make([]float64, routedMax+1)
	}
	if spread {
		r.busiest = make([]float64, routedMax+1)
		r.spreadRows(d)
	}
	at := 0
	for at < routedMax {
		n := min(routedMax, at+max(1, at/5))
		touched, busiest := d.touches(loads, float64(n))
		fillTo(r.touched, at, n, touched)
		fillTo(r.busiest, at, n, busiest)
		at = n
	}
	return r
}

// fillTo makes table go evenly from what it has at one index to a value at another.
func fillTo(table []float64, from, to int, value float64) {
	if table == nil {
		return
	}
	step := (value - table[from]) / float64(to-from)
	for i := from + 1; i < to; i++ {
		table[i] = table[from] + float64(step*float64(i-from))
	}
	table[to] = value
}

// spreadRows sets by how much the rows of the busiest GPU exceed the mean.
func (r *routing) spreadRows(d *Deployment) {
	gpus, e, k := float64(d.Parallel.expertGPUs()), float64(d.Model.Experts()), float64(d.Model.TopK())
	r.greatest = greatestNormal(gpus)
	r.picked = gpus / k * (e - k) / (e - 1)
	if !d.Routing.Balanced {
		r.skewed = d.Routing.Skew * d.Routing.Skew * gpus / e
	}
}

// usualSkew returns how unevenly texts choose experts where no scenario says it; 0: one does, or it is not known.
// Tokens that run together are of texts that have experts in common, and the more experts there are, the more each is
// for: of 8 or 16, texts choose nearly evenly (Mixtral, arXiv 2401.04088, §5; from memory: unverified).
//
//	skew = expert_skew · min(1, E/128)
//
// How uneven the rows of GPUs are beyond chance is left to a scenario: popular experts are on any of them. With 1 steps
// grow with the batch as logged ones do: decodes of Qwen3.6-35B-A3B on one B300 (H_steps), which are 9, 13 and 21 % too
// long at 1, 8 and 32 sequences with experts chosen evenly, are 9, 9 and 10 % too long.
func (d *Deployment) usualSkew() float64 {
	if d.Routing.Skew > 0 {
		return 0
	}
	return d.Efficiency.ExpertSkew * min(1, float64(d.Model.Experts())/128)
}

// popularity returns how popular each expert is, in means of all of them; one number if they are equally popular. A
// redundant expert takes half of the load of the one whose copies have most each (vllm/distributed/eplb/policy/
// default.py of 0.33.0, replicate_experts).
//
// Popularity is lognormal, with expert i of E at the quantile (i + ½)/E: its form is chosen, not measured.
func (d *Deployment) popularity() []float64 {
	if d.Routing.Skew == 0 && d.Routing.Redundant == 0 {
		return []float64{1}
	}
	e := d.Model.Experts()
	loads, sigma, sum := make([]float64, e), math.Sqrt(math.Log1p(d.Routing.Skew*d.Routing.Skew)), 0.0
	for i := range loads {
		loads[i] = math.Exp(sigma * math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(e)-1))
		sum += loads[i]
	}
	for i := range loads {
		loads[i] *= float64(e) / sum
	}
	copies := make([]int, e)
	for range d.Routing.Redundant {
		most := 0
		for i := range loads {
			if loads[i]/float64(copies[i]+1) > loads[most]/float64(copies[most]+1) {
				most = i
			}
		}
		copies[most]++
	}
	for i, n := range copies {
		loads[i] /= float64(n + 1)
		loads = append(loads, slices.Repeat([]float64{loads[i]}, n)...)
	}
	return loads
}

// touches returns which share of all experts so many tokens touch, copies counted, and of its own the busiest GPU.
func (d *Deployment) touches(loads []float64, tokens float64) (all, busiest float64) {
	e, k := float64(d.Model.Experts()), float64(d.Model.TopK())
	sum, squares := 0.0, 0.0
	for _, p := range loads {
		a := -math.Expm1(tokens * math.Log1p(-min(p*k/e, 0.999)))
		sum, squares = sum+a, squares+float64(a*a)
	}
	n := float64(len(loads))
	all = sum / n
	gpus := d.Parallel.expertGPUs()
	if !d.Parallel.Expert || gpus < 2 || all >= 1-1e-9 {
		return all, all
	}
	m := math.Ceil(float64(d.Model.Experts()+d.Routing.Redundant) / float64(gpus))
	q, neither := 1-all, math.Pow((e-k-1)*e/((e-k)*(e-1)), tokens) // q₂ / q², of which each underflows by itself
	v := float64(m * (float64(all*q) + float64(q*q*(1-neither))))
	if d.Routing.Balanced {
		v -= float64(m * max(0, squares/n-float64(all*all)))
	}
	return all, min(1, all+greatestBinomial(int(m), all, gpus)*math.Sqrt(max(0, v))/m)
}

// greatestBinomial returns the mean of the greatest of so many independent binomials of m draws with chance a, as its
// distance from the mean of one in standard deviations. The chance of a number is its share of weights that are 1 for
// the likeliest: a power of 1 − a underflows where there are many draws.
func greatestBinomial(m int, a float64, many int) float64 {
	weights, likeliest := make([]float64, m+1), int(float64(m)*a)
	weights[likeliest] = 1
	for x := likeliest; x > 0; x-- {
		weights[x-1] = weights[x] * float64(x) / float64(m-x+1) * (1 - a) / a
	}
	for x := likeliest; x < m; x++ {
		weights[x+1] = weights[x] * float64(m-x) / float64(x+1) * a / (1 - a)
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	cdf, mean := 0.0, 0.0
	for _, w := range weights[:m] {
		cdf += w / sum
		mean += 1 - math.Pow(min(1, cdf), float64(many))
	}
	return (mean - float64(float64(m)*a)) / math.Sqrt(float64(m)*a*(1-a))
}

// greatestNormal returns the mean of the greatest of n independent standard normal numbers: ∫ x dΦ(x)^n.
func greatestNormal(n float64) float64 {
	const step = 1.0 / 64
	sum := 0.0
	for x := step / 2; x < 8; x += step {
		sum += 1 - math.Pow(math.Erfc(-x/math.Sqrt2)/2, n) - math.Pow(math.Erfc(x/math.Sqrt2)/2, n)
	}
	return sum * step
}

// at returns the value of a table between two numbers of tokens.
func at(table []float64, tokens float64) float64 {
	if tokens >= routedMax {
		return table[routedMax]
	}
	n := int(tokens)
	return table[n] + float64((tokens-float64(n))*(table[n+1]-table[n]))
}

// touched returns which share of the experts so many tokens touch.
func (r *Roofline) touched(tokens float64) float64 {
	if r.routing.touched == nil {
		return r.d.active(tokens)
	}
	return at(r.routing.touched, tokens)
}

// busiest returns which share of its experts the busiest GPU reads for so many tokens, and how many times the mean of
// the rows it multiplies.
func (r *Roofline) busiest(tokens, touched float64) (read, rows float64) {
	if r.routing.busiest == nil || tokens == 0 {
		return touched, 1
	}
	x := r.routing
	read = at(x.busiest, tokens)
	rows = max(read/touched, 1+float64(x.greatest*math.Sqrt(x.skewed+x.picked/tokens)))
	return touched + float64(x.waits*(read-touched)), 1 + float64(x.waits*(rows-1))
}
