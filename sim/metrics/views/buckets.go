package views

// Buckets are the upper bounds of a server's histogram, in seconds and in increasing order.
type Buckets []float64

// quantile estimates the p-quantile as Prometheus' histogram_quantile does: linear within the bucket that holds it,
// from 0 in the first, and the last bound for whatever is above it (prometheus.io/docs, query functions). Within a
// bucket from 10 to 25 ms it knows nothing, so 14 and 20 ms may read alike.
func (b Buckets) quantile(d *Distribution, p float64) float64 {
	below, low := 0.0, 0.0
	for _, upper := range b {
		upto := d.Below(upper)
		if upto < p {
			below, low = upto, upper
			continue
		}
		return low + (upper-low)*(p-below)/(upto-below)
	}
	return b[len(b)-1]
}
