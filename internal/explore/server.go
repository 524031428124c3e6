package explore

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/decodesim/decodesim/internal/loopback"
)

// The bounds of what clients can take.
const (
	runsMost        = 2 // at once
	connectionsMost = 64
	headerMost      = 16 << 10
	queryMost       = 2000
	tabMost         = 40
)

// Server explores a scenario for the browsers of this machine.
type Server struct {
	own     *base
	version string
	slots   chan struct{}

	mu    sync.Mutex
	under map[string]*underway // runs by the page that asked
}

// underway is a run that the page's next one ends.
type underway struct{ end context.CancelCauseFunc }

// errNewer ends a run whose page has asked for another.
var errNewer = errors.New("a newer run was asked for")

// New returns a server of the scenario of a text, in an environment as of os.Environ.
func New(text []byte, env []string, version string) (*Server, error) {
	b, err := newBase("", text, env)
	if err != nil {
		return nil, err
	}
	return &Server{own: b, version: version, slots: make(chan struct{}, runsMost), under: map[string]*underway{}}, nil
}

// BuiltIn returns the text of a built-in scenario.
func BuiltIn(name string) (text []byte, ok bool) { return builtIn(name) }

// Name returns the name of the scenario.
func (s *Server) Name() string { return s.own.scenario.Name }

// Serve answers until ctx is done, which ends what is under way.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		WriteTimeout: 2 * time.Minute, MaxHeaderBytes: headerMost,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(netutil.LimitListener(l, connectionsMost)) }()
	select {
	case <-ctx.Done():
		return errors.Join(ctx.Err(), server.Close())
	case err := <-failed:
		return err
	}
}

// Handler returns the endpoints: the page, and what its script asks.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /{$}", newPage(s.Name(), askServerJS))
	m.HandleFunc("GET /step", func(w http.ResponseWriter, r *http.Request) {
		if q, ok := queryOf(w, r); ok {
			writeJSON(w, http.StatusOK, stepOf(r.Context(), q, s.own))
		}
	})
	m.HandleFunc("GET /first", func(w http.ResponseWriter, r *http.Request) { s.run(w, r, first) })
	m.HandleFunc("GET /run", func(w http.ResponseWriter, r *http.Request) { s.run(w, r, simulate) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case !loopback.Named(r.Host):
			http.Error(w, "this name is not this machine", http.StatusForbidden)
		case site != "" && site != "same-origin" && site != "none" && r.URL.Path != "/":
			http.Error(w, "another site asks", http.StatusForbidden)
		default:
			m.ServeHTTP(w, r)
		}
	})
}

// queryOf reads the query of a request, or refuses it.
func queryOf(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	if len(r.URL.RawQuery) > queryMost {
		http.Error(w, "the query is too long", http.StatusRequestURITooLong)
		return nil, false
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, "the query cannot be read", http.StatusBadRequest)
		return nil, false
	}
	return q, true
}

// simulator answers what a run of a URL says, all of it or a first picture.
type simulator func(ctx context.Context, q url.Values, own *base, version string) (*runX, error)

// run simulates the state of a URL. Of one page, the newest run is the only one.
func (s *Server) run(w http.ResponseWriter, r *http.Request, simulate simulator) {
	q, ok := queryOf(w, r)
	if !ok {
		return
	}
	tab := q.Get("tab")
	q.Del("tab")
	if len(tab) > tabMost {
		http.Error(w, "the name of the page is too long", http.StatusBadRequest)
		return
	}
	ctx, release := s.begin(r.Context(), tab)
	defer release()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
	}
	x, err := simulate(ctx, q, s.own, s.version)
	if err != nil {
		http.Error(w, context.Cause(ctx).Error(), http.StatusConflict)
		return
	}
	writeJSON(w, http.StatusOK, x)
}

// begin ends the run that the page has under way, and notes the one that follows.
func (s *Server) begin(parent context.Context, tab string) (ctx context.Context, release func()) {
	ctx, end := context.WithCancelCause(parent)
	own := &underway{end}
	s.mu.Lock()
	defer s.mu.Unlock()
	if older := s.under[tab]; older != nil {
		older.end(errNewer)
	}
	s.under[tab] = own
	return ctx, func() {
		end(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.under[tab] == own {
			delete(s.under, tab)
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, x any) {
	text, err := json.Marshal(x)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
