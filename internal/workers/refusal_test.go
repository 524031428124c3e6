package workers

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saying returns a worker of an address, and what it says.
func saying(a Address) (*Worker, chan string) {
	said := make(chan string, 99)
	return &Worker{Address: a, Version: "v", Open: func(*Job) (Maker, error) { return makes(double), nil },
		Say: func(f string, v ...any) { said <- fmt.Sprintf(f, v...) }}, said
}

// TestAWorkerSaysThatItsQueueDoesNotAnswer: it goes on trying, and a mistake in the address shows in nothing else.
func TestAWorkerSaysThatItsQueueDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w, said := saying(Address{URL: "nats://127.0.0.1:1"})
	w.sure = time.Nanosecond
	ended := make(chan error, 1)
	go func() { ended <- w.Work(ctx) }()
	assert.Contains(t, <-said, "queue nats://127.0.0.1:1 does not answer yet (nats: no servers available")
	time.Sleep(2 * reconnectWait)
	assert.Empty(t, ended, "a server may come")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	assert.Empty(t, said, "it says so once")
}

// TestAWorkerThatIsRefusedEnds: no other attempt changes what a server says of a token or what it has for a
// certificate. The worker tried for ever, and said that the queue did not answer.
func TestAWorkerThatIsRefusedEnds(t *testing.T) {
	plain, _ := serving(t, Listen{Dir: place(t)})
	secure, _ := serving(t, Listen{Dir: filepath.Join(t.TempDir(), "queue"), Address: "0.0.0.0:0"})
	port := secure.URL()[strings.LastIndexByte(secure.URL(), ':'):]
	for name, c := range map[string]struct {
		at   Address
		want string
	}{
		"token":        {Address{URL: plain.URL(), Token: "another"}, plain.URL() + " refuses the token; expected the one"},
		"token in URL": {Address{URL: "nats://another@" + plain.URL()[7:]}, plain.URL() + " refuses the token"},
		"no token":     {Address{URL: plain.URL()}, plain.URL() + " wants a token; expected it in the URL"},
		"pin": {Address{URL: "tls://127.0.0.1" + port, Token: secure.Token, Pin: strings.Repeat("0", 64)},
			"the server's certificate is " + secure.Pin + ", not the one of --pin"},
		"authority": {Address{URL: "tls://127.0.0.1" + port, Token: secure.Token}, "has a certificate that nobody vouches"},
		"no TLS":    {Address{URL: "tls" + plain.URL()[4:], Token: plain.Token}, "has no TLS; expected a server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, said := saying(c.at)
			w.sure = time.Millisecond
			err := w.Work(t.Context())
			require.ErrorContains(t, err, c.want)
			assert.Contains(t, <-said, c.want)
			assert.Empty(t, said)
			_, err = c.at.Open(1)
			require.ErrorContains(t, err, c.want, "a coordinator is refused at once")
		})
	}
}

// TestARefusalIsNotFinalAtOnce: a server that is about to end may be in the place of the one that was meant. A worker
// that was served before is refused just so when another server has come, with a token that it does not have.
func TestARefusalIsNotFinalAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	require.NoError(t, l.Close())
	other, _ := serving(t, Listen{Dir: place(t), Address: at})
	dir := filepath.Join(t.TempDir(), "queue")
	require.NoError(t, claimFolder(dir))
	token, _, err := ownToken(dir)
	require.NoError(t, err)
	w, said := saying(Address{URL: "nats://" + at, Token: token})
	w.sure = time.Minute
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- w.Work(ctx) }()
	assert.Contains(t, <-said, "refuses the token; expected the one that the coordinator prints and that the file token "+
		"in its folder has; it is tried for 1m0s")
	other.Close()
	meant, q := serving(t, Listen{Dir: dir, Address: at})
	to := collecting(3)
	require.NoError(t, q.Collect(t.Context(), job(t), to))
	to.doubled(t)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)

	served, said := saying(Address{URL: "nats://" + at, Token: token})
	served.sure = time.Millisecond
	go func() { ended <- served.Work(t.Context()) }()
	require.NoError(t, q.Collect(t.Context(), job(t), collecting(3)))
	meant.Close()
	serving(t, Listen{Dir: filepath.Join(t.TempDir(), "queue"), Address: at})
	require.ErrorContains(t, <-ended, "refuses the token")
	assert.Contains(t, <-said, "works on test doubles")
}
