package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shortLease is the lease of the tests, in place of Lease.
const shortLease = 600 * time.Millisecond

// taken collects results in memory.
type taken struct {
	runs int
	mu   sync.Mutex
	all  map[int]string
	lost map[int]int
	then func(n int)
}

func (c *taken) Runs() int { return c.runs }

func (c *taken) Has(run int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[run] != ""
}

func (c *taken) Take(r *Result) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[r.Run] != "" {
		return fmt.Errorf("run %d was taken before", r.Run)
	}
	c.all[r.Run] = string(r.Data)
	if r.GivenUp {
		c.all[r.Run], c.lost[r.Run] = "none", r.Deliveries
	}
	if c.then != nil {
		c.then(len(c.all))
	}
	return nil
}

func collecting(runs int) *taken {
	return &taken{runs: runs, all: map[int]string{}, lost: map[int]int{}}
}

// makes is a Maker by a function.
type makes func(ctx context.Context, run int) (json.RawMessage, error)

func (m makes) Make(ctx context.Context, run int, _ json.RawMessage) (json.RawMessage, error) {
	return m(ctx, run)
}

// double is a result that anybody can check.
func double(_ context.Context, run int) (json.RawMessage, error) {
	return json.RawMessage(fmt.Sprint(2 * run)), nil
}

func (c *taken) doubled(t *testing.T) {
	t.Helper()
	require.Len(t, c.all, c.runs)
	for run, data := range c.all {
		assert.Equal(t, fmt.Sprint(2*run), data)
	}
}

// place is where a queue may be: workers of a test change its working directory.
func place(t *testing.T) string {
	t.Chdir(t.TempDir())
	return filepath.Join(t.TempDir(), "queue")
}

// serving starts a server on loopback, in a directory that a test may come back to.
func serving(t *testing.T, l Listen) (*Server, *Queue) {
	t.Helper()
	if l.Address == "" {
		l.Address = "127.0.0.1:0"
	}
	s, err := Serve(l)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	q, err := s.Own()
	require.NoError(t, err)
	t.Cleanup(q.Close)
	q.lease = shortLease
	return s, q
}

// working starts a worker, which the test ends.
func working(t *testing.T, a Address, m makes) (stop func() error) { return workingOn(t, a, m) }

func job(t *testing.T, files ...string) *Job {
	t.Helper()
	j, err := NewJob(t.Context(), "abc123", "test", "doubles", "v", map[string]int{"n": 1}, files)
	require.NoError(t, err)
	return &j
}

func TestEveryRunIsTakenOnce(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	to := collecting(window + 100)
	for range 2 {
		working(t, Address{URL: s.URL(), Token: s.Token}, double)
	}
	require.NoError(t, q.Collect(t.Context(), job(t), to))
	to.doubled(t)
}

// TestARunOfAWorkerThatIsNotHeardOfIsMadeByAnother: the first worker stops over its run for longer than the lease, and
// comes back with the same result. The run is taken once.
func TestARunOfAWorkerThatIsNotHeardOfIsMadeByAnother(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	var stuck atomic.Int32
	release := make(chan struct{})
	a := Address{URL: s.URL(), Token: s.Token}
	silent, err := a.Open(1)
	require.NoError(t, err)
	defer silent.Close()
	to := collecting(20)
	go func() { // a worker that takes a run, sends no heartbeat, and puts its result at last
		for t.Context().Err() == nil {
			p, err := silent.find(t.Context(), "abc123")
			if err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			c, err := p.runs.Consumer(t.Context(), consumer)
			if err != nil {
				continue
			}
			m, err := c.Next()
			if err != nil {
				continue
			}
			run, _ := runOf(m.Subject())
			stuck.Store(1)
			<-release
			_ = p.put(t.Context(), &Result{Run: run, By: "silent", Data: json.RawMessage(fmt.Sprint(2 * run))})
			_ = m.Ack()
			return
		}
	}()
	done := make(chan error, 1)
	go func() { done <- q.Collect(t.Context(), job(t), to) }()
	require.Eventually(t, func() bool { return stuck.Load() == 1 }, 10*time.Second, time.Millisecond)
	to.then = func(n int) {
		if n == 20 {
			close(release)
		}
	}
	working(t, a, double)
	require.NoError(t, <-done)
	to.doubled(t)
}

// TestALeaseLastsAsLongAsItsRun: a run of several leases is given to one worker only.
func TestALeaseLastsAsLongAsItsRun(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	var made atomic.Int32
	slow := func(ctx context.Context, run int) (json.RawMessage, error) {
		made.Add(1)
		time.Sleep(3 * shortLease)
		return double(ctx, run)
	}
	for range 2 {
		working(t, Address{URL: s.URL(), Token: s.Token}, slow)
	}
	to := collecting(1)
	require.NoError(t, q.Collect(t.Context(), job(t), to))
	to.doubled(t)
	assert.EqualValues(t, 1, made.Load())
}

// TestACoordinatorGoesOnWhereOneEnded: results that nobody took are in the queue; only runs under way are made again.
func TestACoordinatorGoesOnWhereOneEnded(t *testing.T) {
	dir := place(t)
	var made atomic.Int32
	counted := func(ctx context.Context, run int) (json.RawMessage, error) {
		made.Add(1)
		return double(ctx, run)
	}
	s, q := serving(t, Listen{Dir: dir})
	at := Address{URL: s.URL(), Token: s.Token}
	stop := working(t, at, counted)
	ctx, cancel := context.WithCancel(t.Context())
	first := collecting(400)
	first.then = func(int) { cancel() }
	require.ErrorIs(t, q.Collect(ctx, job(t), first), context.Canceled)
	require.ErrorIs(t, stop(), context.Canceled)
	q.Close()
	s.Close()
	s, q = serving(t, Listen{Dir: dir, Address: strings.TrimPrefix(at.URL, "nats://")})
	require.Equal(t, at.Token, s.Token)
	working(t, at, counted)
	first = collecting(400) // what it took is lost
	require.NoError(t, q.Collect(t.Context(), job(t), first))
	first.doubled(t)
	assert.InDelta(t, 400, made.Load(), float64(runtime.GOMAXPROCS(0)))
}

// TestARunThatEndsItsWorkersIsGivenUp and is in the result, with how often it was tried.
func TestARunThatEndsItsWorkersIsGivenUp(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	q.lease = 50 * time.Millisecond
	a := Address{URL: s.URL(), Token: s.Token}
	poison := 3
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // workers that end over one run, one after the other: what they take is never acknowledged
		queue, err := a.Open(1)
		if err != nil {
			return
		}
		defer queue.Close()
		for given := 0; given < deliveriesMax && ctx.Err() == nil; {
			p, err := queue.find(ctx, "abc123")
			if err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			c, err := p.runs.Consumer(ctx, consumer)
			if err != nil {
				continue
			}
			m, err := c.Next()
			if err != nil {
				continue
			}
			if run, _ := runOf(m.Subject()); run == poison {
				given++
			}
		}
		working(t, a, func(ctx context.Context, run int) (json.RawMessage, error) {
			assert.NotEqual(t, poison, run)
			return double(ctx, run)
		})
	}()
	to := collecting(5)
	require.NoError(t, q.Collect(t.Context(), job(t), to))
	assert.Equal(t, "none", to.all[poison])
	assert.Equal(t, deliveriesMax, to.lost[poison])
}

// TestTwoResultsOfOneRunAreAnError, with the names of both workers.
func TestTwoResultsOfOneRunAreAnError(t *testing.T) {
	dir := place(t)
	_, q := serving(t, Listen{Dir: dir})
	done := make(chan error, 1)
	go func() { done <- q.Collect(t.Context(), job(t), collecting(9)) }()
	var p places
	require.Eventually(t, func() (found bool) {
		var err error
		p, err = q.find(t.Context(), "abc123")
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, p.put(t.Context(), &Result{Run: 4, By: "amd", Data: json.RawMessage("8")}))
	require.NoError(t, p.put(t.Context(), &Result{Run: 4, By: "again", Data: json.RawMessage("8")}), "the same bytes")
	var other *Differs
	require.ErrorAs(t, p.put(t.Context(), &Result{Run: 4, By: "arm", Data: json.RawMessage("9")}), &other)
	require.ErrorContains(t, <-done, "run 4 came out differently on amd and on arm")
}

func TestALongResultGoesByTheObjectStore(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	long := `"` + strings.Repeat("x", 3<<20) + `"`
	working(t, Address{URL: s.URL(), Token: s.Token}, func(context.Context, int) (json.RawMessage, error) {
		return json.RawMessage(long), nil
	})
	to := collecting(2)
	require.NoError(t, q.Collect(t.Context(), job(t), to))
	assert.Equal(t, []string{long, long}, []string{to.all[0], to.all[1]})
}

// TestAWorkerHasTheFilesOfTheJob at the paths that lead to them from the coordinator's working directory.
func TestAWorkerHasTheFilesOfTheJob(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "here"), 0o700))
	t.Chdir(filepath.Join(home, "here"))
	require.NoError(t, os.WriteFile("near.txt", []byte("near"), 0o600))
	require.NoError(t, os.WriteFile("../far.txt", []byte("far"), 0o600))
	j := job(t, "near.txt", "../far.txt")
	s, q := serving(t, Listen{Dir: filepath.Join(home, "queue")})
	original, _ := os.Getwd()
	working(t, Address{URL: s.URL(), Token: s.Token}, func(context.Context, int) (json.RawMessage, error) {
		near, err := os.ReadFile("near.txt")
		far, err2 := os.ReadFile("../far.txt")
		here, err3 := os.Getwd()
		if err != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("%w %w %w", err, err2, err3)
		}
		return json.Marshal([]string{string(near), string(far), here})
	})
	to := collecting(1)
	require.NoError(t, q.Collect(t.Context(), j, to))
	want, _ := json.Marshal([]string{"near", "far", original})
	assert.JSONEq(t, string(want), to.all[0], "paths in a result are those of the coordinator")
}

// TestBeyondLoopbackIsTLS with a certificate that workers know by its fingerprint, and a token in any case.
func TestBeyondLoopbackIsTLS(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir, Address: "0.0.0.0:0"})
	require.NotEmpty(t, s.Pin)
	require.True(t, strings.HasPrefix(s.URL(), "tls://"))
	port := s.URL()[strings.LastIndexByte(s.URL(), ':'):]
	at := "tls://127.0.0.1" + port
	for _, wrong := range []Address{
		{URL: at, Token: s.Token, Pin: strings.Repeat("0", 64)},
		{URL: at, Token: s.Token}, // no authority vouches for it
		{URL: at, Token: "guess", Pin: s.Pin},
		{URL: at, Pin: s.Pin},
		{URL: "nats://127.0.0.1" + port, Token: s.Token},
	} {
		_, err := wrong.connect("intruder")
		require.Error(t, err, "%+v", wrong)
	}
	working(t, Address{URL: at, Token: s.Token, Pin: s.Pin}, double)
	to := collecting(10)
	require.NoError(t, q.Collect(t.Context(), job(t), to))
	to.doubled(t)
	_, secure, err := (&Address{URL: "nats://queue.example.com"}).parse()
	require.NoError(t, err)
	assert.True(t, secure, "whatever the scheme")
	for _, name := range []string{tokenName, certificateName} {
		is, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Zero(t, is.Mode().Perm()&0o077, "%s is for its owner only", name)
	}
}

func TestAJobOfAnotherVersionIsLeftAlone(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	said := make(chan string, 9)
	w := &Worker{Address: Address{URL: s.URL(), Token: s.Token}, Version: "other",
		Open: func(*Job) (Maker, error) { return makes(double), nil },
		Say:  func(f string, v ...any) { said <- fmt.Sprintf(f, v...) }}
	ended := make(chan error, 1)
	go func() { ended <- w.Work(ctx) }()
	go func() { ended <- q.Collect(ctx, job(t), collecting(3)) }()
	assert.Contains(t, <-said, "test doubles is of version v, and this is other")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.ErrorIs(t, <-ended, context.Canceled)
	w.Strict, w.Idle = true, time.Minute
	require.ErrorContains(t, w.Work(t.Context()), "test doubles is of version v, and this is other")
}

func TestAnAddressThatIsNoneIsRefused(t *testing.T) {
	for url, want := range map[string]string{
		"http://x":    `queue "http://x": expected nats://HOST:PORT or tls://HOST:PORT`,
		"nats://":     `queue "nats://": expected nats://HOST:PORT`,
		"somewhere":   `queue "somewhere": expected`,
		"s3://a@host": `queue "s3://host": expected`,
	} {
		_, err := (&Address{URL: url}).Open(1)
		assert.ErrorContains(t, err, want)
	}
	_, err := (&Address{URL: "tls://h", Pin: "abc"}).Open(1)
	assert.ErrorContains(t, err, "--pin abc: expected the 64 hexadecimal digits")
	for address, want := range map[string]string{
		"4222": "--listen 4222: expected HOST:PORT", "h:x": "--listen h:x: expected", "h:70000": "--listen h:70000: expected",
	} {
		_, err := Serve(Listen{Address: address, Dir: t.TempDir()})
		assert.ErrorContains(t, err, want)
	}
	_, err = Serve(Listen{Address: "127.0.0.1:0", Dir: t.TempDir(), Cert: "c.pem"})
	assert.ErrorContains(t, err, "--tls-cert and --tls-key: expected both or none")
	_, err = Serve(Listen{Address: "127.0.0.1:0", Dir: t.TempDir(), Cert: "/dev/zero", Key: "/dev/zero"})
	require.ErrorContains(t, err, "--tls-cert: \"/dev/zero\" is a device", "it has no end")
}
