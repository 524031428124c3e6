package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answers is a Maker that answers a number with its double, and counts how often it was asked.
type answers struct {
	made atomic.Int32
	do   func(ctx context.Context, about json.RawMessage) (json.RawMessage, error)
}

func (m *answers) Make(ctx context.Context, _ int, about json.RawMessage) (json.RawMessage, error) {
	m.made.Add(1)
	if m.do != nil {
		return m.do(ctx, about)
	}
	return twice(about)
}

func twice(about json.RawMessage) (json.RawMessage, error) {
	var n int
	if err := json.Unmarshal(about, &n); err != nil {
		return nil, err
	}
	return json.RawMessage(fmt.Sprint(2 * n)), nil
}

// workingOn starts a worker, which the test ends.
func workingOn(t *testing.T, a Address, m Maker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	w := &Worker{Address: a, Version: "v", Open: func(*Job) (Maker, error) { return m, nil },
		Say: func(string, ...any) {}}
	go func() { done <- w.Work(ctx) }()
	end := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = end() })
	return end
}

// answering starts a worker that answers, which the test ends.
func answering(t *testing.T, s *Server, m *answers) (stop func() error) {
	return workingOn(t, Address{URL: s.URL(), Token: s.Token}, m)
}

// TestWhatIsAskedForIsMadeOnce: runs that follow from the results of others, and a coordinator that comes after one
// that has ended, for which what was made before is not made again.
func TestWhatIsAskedForIsMadeOnce(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	m := &answers{}
	answering(t, s, m)
	answering(t, s, m)
	for again := range 2 {
		a, err := q.Asks(t.Context(), job(t))
		require.NoError(t, err)
		errs := make(chan error, 20)
		for i := range 20 {
			go func() { // each asks for 1, 2, 4, … times a number of its own
				about := json.RawMessage(fmt.Sprint(2*i + 1))
				for want := 2 * (2*i + 1); want < 5000; want *= 2 {
					got, err := a.Ask(t.Context(), about)
					if err != nil || string(got) != fmt.Sprint(want) {
						errs <- fmt.Errorf("asked %s, got %s, %v", about, got, err)
						return
					}
					about = got
				}
				errs <- nil
			}()
		}
		for range 20 {
			require.NoError(t, <-errs)
		}
		if again == 0 {
			m.made.Store(0)
		}
		require.NoError(t, a.End(t.Context(), again == 1))
	}
	assert.Zero(t, m.made.Load(), "the second coordinator finds all results")
	_, err := q.find(t.Context(), "abc123")
	require.Error(t, err, "nothing of the job is left")
}

// TestARunThatEndsItsWorkersIsNotWaitedFor: it is an error of the one that asked.
func TestARunThatEndsItsWorkersIsNotWaitedFor(t *testing.T) {
	dir := place(t)
	s, q := serving(t, Listen{Dir: dir})
	q.lease = shortLease / 6
	a, err := q.Asks(t.Context(), job(t))
	require.NoError(t, err)
	c, err := a.runs.Consumer(t.Context(), consumer)
	require.NoError(t, err)
	go func() { // workers that take it and are not heard of any more
		for taken := 0; taken < deliveriesMax && t.Context().Err() == nil; {
			if m, err := c.Next(); err == nil && m != nil {
				taken++
			}
		}
		answering(t, s, &answers{})
	}()
	_, err = a.Ask(t.Context(), json.RawMessage("7"))
	require.ErrorContains(t, err, "a run was given to 10 workers")
	got, err := a.Ask(t.Context(), json.RawMessage("8"))
	require.NoError(t, err)
	assert.Equal(t, "16", string(got))
	require.NoError(t, a.End(t.Context(), true))
}

// TestTwoAnswersToOneQuestionEndTheSearch.
func TestTwoAnswersToOneQuestionEndTheSearch(t *testing.T) {
	dir := place(t)
	_, q := serving(t, Listen{Dir: dir})
	a, err := q.Asks(t.Context(), job(t))
	require.NoError(t, err)
	about := json.RawMessage("7")
	first := &Result{Run: numberOf(about), By: "a/1", Data: json.RawMessage("14")}
	second := &Result{Run: numberOf(about), By: "b/2", Data: json.RawMessage("15")}
	require.NoError(t, a.put(t.Context(), first))
	var differ *Differs
	require.ErrorAs(t, a.put(t.Context(), second), &differ)
	_, err = a.Ask(t.Context(), json.RawMessage("8")) // nobody answers that
	require.ErrorAs(t, err, &differ)
	assert.Equal(t, "a/1", differ.By)
}

// TestASearchDoesNotWaitForWhatCannotCome: its connection has been closed, or a result is none.
func TestASearchDoesNotWaitForWhatCannotCome(t *testing.T) {
	about := json.RawMessage("7")
	for want, spoil := range map[string]func(a *Asks) error{
		nats.ErrConnectionClosed.Error(): func(a *Asks) error { a.Close(); return nil },
		"that is none": func(a *Asks) error {
			_, err := a.results.Put(t.Context(), strconv.Itoa(numberOf(about)), []byte("torn"))
			return err
		},
	} {
		dir := place(t)
		_, q := serving(t, Listen{Dir: dir})
		a, err := q.Asks(t.Context(), job(t))
		require.NoError(t, err)
		asked := make(chan error, 1)
		go func() { _, err := a.Ask(t.Context(), about); asked <- err }()
		require.Eventually(t, func() bool {
			state, err := a.runs.Info(t.Context())
			return err == nil && state.State.Msgs == 1
		}, time.Minute, time.Millisecond)
		require.NoError(t, spoil(a))
		require.ErrorContains(t, <-asked, want)
	}
}

// TestATornResultOfACoordinatorBeforeIsNotWaitedFor, whether it is there when it is asked for or its notice was lost:
// all that wait for the run hear of it.
func TestATornResultOfACoordinatorBeforeIsNotWaitedFor(t *testing.T) {
	about := json.RawMessage("7")
	for want, torn := range map[string]string{
		"that is none":             "torn",
		`whose object "x" is none`: `{"by":"a/1","deliveries":1,"object":"x"}`,
	} {
		place(t)
		_, q := serving(t, Listen{Dir: t.TempDir()})
		q.lease = shortLease
		a, err := q.Asks(t.Context(), job(t))
		require.NoError(t, err)
		_, err = a.results.Put(t.Context(), strconv.Itoa(numberOf(about)), []byte(torn))
		require.NoError(t, err)
		errs := make(chan error, 2)
		for range 2 {
			go func() { _, err := a.Ask(t.Context(), about); errs <- err }()
		}
		require.ErrorContains(t, <-errs, want)
		require.ErrorContains(t, <-errs, want)
		require.ErrorContains(t, a.repaired(t.Context(), about), want)
		require.NoError(t, a.End(t.Context(), false))
	}
}

// repaired looks for the result of a run as if no notice of it had come.
func (a *Asks) repaired(ctx context.Context, about json.RawMessage) error {
	a.asked = map[int]*asked{numberOf(about): {about: about}}
	return a.repair(ctx)
}

// TestAQueueWithFewerCopiesThanItsServersPromiseSaysSo: one server has three names.
func TestAQueueWithFewerCopiesThanItsServersPromiseSaysSo(t *testing.T) {
	place(t)
	s, _ := serving(t, Listen{Dir: t.TempDir()})
	one := Address{URL: s.URL(), Token: s.Token}
	at := strings.TrimPrefix(s.URL(), "nats://127.0.0.1:")
	three := Address{URL: s.URL() + ",nats://localhost:" + at + ",nats://LOCALHOST:" + at, Token: s.Token}
	for want, of := range map[string]Address{"": one, "the queue has 1 copy and not 3": three} {
		q, err := of.Open(0)
		require.NoError(t, err)
		said := ""
		q.Say = func(format string, values ...any) { said += fmt.Sprintf(format, values...) }
		a, err := q.Asks(t.Context(), job(t))
		require.NoError(t, err)
		if want == "" {
			assert.Empty(t, said)
		} else {
			assert.Contains(t, said, want)
		}
		require.NoError(t, a.End(t.Context(), true))
		q.Close()
	}
}

// TestAServerThatCannotHaveAQueueIsFoundOutAtOnce: it has no JetStream, or fewer servers beside it than are asked for.
func TestAServerThatCannotHaveAQueueIsFoundOutAtOnce(t *testing.T) {
	place(t)
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	plain.Start()
	t.Cleanup(plain.Shutdown)
	require.True(t, plain.ReadyForConnections(readyWithin))
	single, _ := serving(t, Listen{Dir: t.TempDir()})
	for want, of := range map[string]struct {
		at       Address
		replicas int
	}{
		"jetstream not enabled":                            {Address{URL: plain.ClientURL()}, 0},
		"replicas > 1 not supported in non-clustered mode": {Address{URL: single.URL(), Token: single.Token}, 3},
		"": {Address{URL: single.URL(), Token: single.Token}, 0},
	} {
		q, err := of.at.Open(of.replicas)
		require.NoError(t, err)
		began := time.Now()
		_, err = q.Asks(t.Context(), job(t))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
		assert.Less(t, time.Since(began), patience/2)
		q.Close()
	}
}
