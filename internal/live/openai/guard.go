package openai

import (
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/decodesim/decodesim/internal/loopback"
)

// Limits bound what clients can take of the server.
type Limits struct {
	BodyBytes    int64         // of a request
	Streams      int           // requests under way
	RatePerS     float64       // requests/s that are taken; 0: any
	Header       time.Duration // from a connection, or the first byte of a later request, to the end of its head
	Body         time.Duration // for its body
	Write        time.Duration // for a client to take what has been written
	Idle         time.Duration // between two requests of a connection
	HeaderBytes  int
	Connections  int
	ChoicesTotal int // answers that one request may ask for
}

// DefaultLimits are wide enough for load tests and narrow enough for a machine with a few GiB. A client of Python that
// opens hundreds of connections at once may take ten seconds until it uses the last of them.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes: 8 << 20, Streams: 4096, Header: 30 * time.Second, Body: 30 * time.Second, Write: 30 * time.Second,
		Idle: 2 * time.Minute, HeaderBytes: 64 << 10, Connections: 8192, ChoicesTotal: 1024,
	}
}

// guard decides who may ask.
type guard struct {
	key     string // empty: no token is demanded
	local   bool   // only names of this machine are served: another name is a page that a browser was lured to
	streams atomic.Int64
	most    int64
	rate    *rate.Limiter // nil: any
	cross   *http.CrossOriginProtection
}

func newGuard(key string, local bool, l Limits) *guard {
	g := &guard{key: key, local: local, most: int64(l.Streams), cross: http.NewCrossOriginProtection()}
	if l.RatePerS > 0 {
		g.rate = rate.NewLimiter(rate.Limit(l.RatePerS), max(1, int(l.RatePerS)))
	}
	return g
}

// check returns why a request is refused; nil: it is not.
func (g *guard) check(r *http.Request, open bool) *failure {
	if g.local && !loopback.Named(r.Host) {
		return refused(http.StatusForbidden, "PermissionDeniedError", "host %q is not this machine", r.Host)
	}
	if err := g.cross.Check(r); err != nil {
		return refused(http.StatusForbidden, "PermissionDeniedError", "%s", err)
	}
	if g.key == "" || open {
		return nil
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(g.key)) != 1 {
		return refused(http.StatusUnauthorized, "AuthenticationError", "Unauthorized")
	}
	return nil
}

// enter takes a request in; leave must follow unless it is refused.
func (g *guard) enter() (*failure, reason) {
	if g.rate != nil && !g.rate.Allow() {
		return refused(http.StatusTooManyRequests, "RateLimitError", "more than %g requests/s", float64(g.rate.Limit())),
			overMaxRate
	}
	if g.streams.Add(1) > g.most {
		g.leave()
		return refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "%d requests are under way", g.most),
			overQueue
	}
	return nil, 0
}

func (g *guard) leave() { g.streams.Add(-1) }
