package openai

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Config says how a fleet is served.
type Config struct {
	Model string // by which clients ask for it
	// Adapters is how many LoRA adapters there are, which clients ask for by the names adapter-1 and so on
	Adapters int
	Root     string // what it is
	Longest  int32  // tokens of a prompt and its answer
	Version  string
	Key      string // the token that clients must have; empty: none
	Local    bool   // it is only for this machine
	Bytes    int    // of text that are a token
	Limits   Limits
}

// Server serves a fleet.
type Server struct {
	model, root, version string

	adapters int
	longest  int32
	limits   Limits
	loop     *live.Loop
	clock    *live.Clock
	reader   *live.Reader
	guard    *guard
	written  delays
	writers  writers
	prefix   string // of the ids of this server's answers
	number   atomic.Uint64
	since    time.Time
	ending   atomic.Bool
	refused  refusals
}

// New returns the server of a fleet that loop keeps at the time of clock.
func New(l *live.Loop, clock *live.Clock, c Config) *Server {
	var id [6]byte
	_, _ = rand.Read(id[:]) // it never fails
	s := &Server{
		model: c.Model, root: c.Root, version: c.Version, longest: c.Longest, adapters: c.Adapters,
		limits: c.Limits, loop: l, clock: clock,
		reader: live.NewReader(c.Bytes), guard: newGuard(c.Key, c.Local, c.Limits), prefix: hex.EncodeToString(id[:]),
		since: time.Now(),
	}
	return s
}

// Handler returns the endpoint of a replica, or of the whole fleet if it is negative.
func (s *Server) Handler(replica int) http.Handler {
	m := http.NewServeMux()
	open := map[string]bool{"/health": true, "/ping": true}
	m.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, false, replica) })
	m.HandleFunc("POST /v1/chat/completions",
		func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, true, replica) })
	m.HandleFunc("GET /v1/models", s.models)
	m.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { s.health(w, replica) })
	m.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { s.health(w, replica) })
	m.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]string{"version": s.version})
	})
	m.Handle("GET /metrics", s.exporter(replica))
	if replica < 0 {
		s.administer(m)
	}
	for _, path := range []string{"/v1/completions", "/v1/chat/completions", "/v1/models", "/metrics"} {
		m.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			refused(http.StatusMethodNotAllowed, "MethodNotAllowedError", "%s is not for %s", r.URL.Path, r.Method).write(w)
		})
	}
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refused(http.StatusNotFound, "NotFoundError", "%s %s is not served", r.Method, r.URL.Path).write(w)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := s.guard.check(r, open[r.URL.Path]); f != nil {
			f.write(w)
			return
		}
		m.ServeHTTP(w, r)
	})
}

// generate answers a request for completions.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, chat bool, replica int) {
	came := time.Now()
	if s.ending.Load() {
		refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "the server ends").write(w)
		return
	}
	if replica >= 0 && !s.loop.Live(replica) {
		refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "the replica is not up").write(w)
		return
	}
	if f, reason := s.guard.enter(); f != nil {
		s.refused.count(replica, reason)
		f.write(w)
		return
	}
	defer s.guard.leave()
	b, f := s.read(w, r)
	if f != nil {
		f.write(w)
		return
	}
	j, f := s.jobOf(b, chat, session(r, b), replica)
	if f != nil {
		f.write(w)
		return
	}
	number := s.number.Add(1)
	kind := "cmpl"
	if chat {
		kind = "chatcmpl"
	}
	id := fmt.Sprintf("%s-%s%08x", kind, s.prefix, number)
	if r.ContentLength < 0 || r.ContentLength > 1<<20 {
		came = time.Now() // what a client takes to send a long body is not the server's
	}
	x := newWire(j, id, number, came.Unix(), s.reader.BytesPerToken())
	if !s.answer(w, r, j, x, came) {
		s.loop.Cancel(time.Now(), j.answers)
	}
}

// answer has j answered, as of an instant of the wall, and reports whether the client has waited for it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, j *job, x *wire, came time.Time) bool {
	var st *stream
	wake := make(chan struct{}, 1)
	if j.stream {
		st = s.newStream(w, r, j, x)
	} else {
		j.changed = func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}
	if !s.loop.Submit(came, j.asks) {
		refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "the server ends").write(w)
		return true
	}
	if j.stream {
		return st.serve(r.Context())
	}
	return s.collect(w, r, j, x, wake)
}

// session returns what routers with affinity take for the session of a request: the header X-Session-Id or the user; 0:
// it has neither.
func session(r *http.Request, b *body) int32 {
	name := r.Header.Get("X-Session-Id")
	if name == "" {
		name = b.User
	}
	if name == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int32(h.Sum32()>>1) | 1
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []any{map[string]any{
		"id": s.model, "object": "model", "created": s.since.Unix(), "owned_by": "decodesim", "root": s.root,
		"parent": nil, "max_model_len": s.longest,
	}}
	for i := range s.adapters {
		name := adapterPrefix + strconv.Itoa(i+1)
		list = append(list, map[string]any{"id": name, "object": "model", "created": s.since.Unix(),
			"owned_by": "decodesim", "root": name, "parent": s.model, "max_model_len": nil})
	}
	writeJSON(w, map[string]any{"object": "list", "data": list})
}

// adapterPrefix begins the names of adapters, which end in their numbers.
const adapterPrefix = "adapter-"

// adapterOf returns the adapter that a model of a request is, as vLLM takes those names; 0: the model itself.
func (s *Server) adapterOf(model string) (adapter uint16, ok bool) {
	if model == "" || model == s.model {
		return 0, true
	}
	text, found := strings.CutPrefix(model, adapterPrefix)
	n, err := strconv.ParseUint(text, 10, 16)
	if !found || err != nil || n < 1 || int(n) > s.adapters || text != strconv.FormatUint(n, 10) {
		return 0, false
	}
	return uint16(n), true
}

// health says whether a request would be served.
func (s *Server) health(w http.ResponseWriter, replica int) {
	if s.ending.Load() || replica >= 0 && !s.loop.Live(replica) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// Drain refuses requests from now on, and waits until those under way have ended or ctx is done.
func (s *Server) Drain(ctx context.Context) {
	s.ending.Store(true)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if s.guard.streams.Load() == 0 && s.loop.Open() == 0 {
			tick.Stop()
			return
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// HTTP returns the server of a handler within the limits.
func (s *Server) HTTP(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: s.limits.Header, IdleTimeout: s.limits.Idle,
		MaxHeaderBytes: s.limits.HeaderBytes, ConnContext: withConnection}
}

// Listener bounds the connections of a listener.
func (s *Server) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, places: make(chan struct{}, s.limits.Connections), closed: make(chan struct{})}
}

// delays is how long after they were due tokens were written to their clients' connections, in wall time.
type delays struct {
	mu   sync.Mutex
	hist metrics.Hist
}

func (d *delays) observe(c *live.Clock, due sim.Time, tokens int32) {
	if tokens == 0 {
		return
	}
	delay := sim.Duration(c.Since(time.Now(), due).Nanoseconds()) * sim.Nanosecond
	d.mu.Lock()
	d.hist.Add(delay, uint64(tokens))
	d.mu.Unlock()
}

func (d *delays) quantiles() (metrics.Quantiles, int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hist.Quantiles(), d.hist.N()
}
