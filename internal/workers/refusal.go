package workers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// sureAfter is how long a server has to refuse a worker before it is taken at its word: one that is about to end may
// make room for the one that was meant.
const sureAfter = 5 * time.Second

// otherCertificate is a certificate that is not the one of Address.Pin.
type otherCertificate struct{ fingerprint string }

func (o otherCertificate) Error() string {
	return fmt.Sprintf("the server's certificate is %s, not the one of --pin", o.fingerprint)
}

// refusal says what a server that has answered does not have or does not take, which no other attempt changes; empty:
// it may yet serve us.
func (a *Address) refusal(err error) string {
	unknown := []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired}
	switch {
	case slices.ContainsFunc(unknown, func(e error) bool { return errors.Is(err, e) }) && a.hasToken():
		return "refuses the token; expected the one that the coordinator prints and that the file token in its folder has"
	case slices.ContainsFunc(unknown, func(e error) bool { return errors.Is(err, e) }):
		return "wants a token; expected it in the URL, as in nats://TOKEN@HOST:PORT, or in --token-file"
	case errors.As(err, new(otherCertificate)), errors.As(err, new(*tls.CertificateVerificationError)):
		return fmt.Sprintf("has a certificate that nobody vouches for: %v; expected that of --pin, or of an authority of "+
			"--tls-ca or of the system", err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "has no TLS; expected a server that encrypts, or nats://127.0.0.1"
	}
	return ""
}

// hasToken reports whether there is a token, in the URL or beside it.
func (a *Address) hasToken() bool { return a.Token != "" || strings.Contains(a.URL, "@") }

// patience has the first attempt of a worker repeated, as the server may come later, and says so. Whether a refusal is
// one for good is decided here, and not by the library, which takes the second for the last.
func (w *Worker) patience() []nats.Option {
	var first sync.Once
	return []nats.Option{nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(func(*nats.Conn) { first.Do(func() {}) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			first.Do(func() {
				if why := w.refusal(err); why != "" {
					w.Say("queue %s %s; it is tried for %s", hidden(w.URL), why, w.sure)
					return
				}
				w.Say("queue %s does not answer yet (%v); it is tried until it does", hidden(w.URL), err)
			})
		})}
}

// refused waits until a server has refused a worker for long enough, and returns what it refuses; nil: ctx has ended
// before.
func (w *Worker) refused(ctx context.Context, c *nats.Conn) error {
	var since time.Time // zero: it is not refused
	again := time.NewTicker(askEvery / 2)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
		why := ""
		if !c.IsConnected() {
			why = w.refusal(c.LastError())
		}
		switch {
		case why == "":
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= w.sure:
			return fmt.Errorf("queue %s %s", hidden(w.URL), why)
		}
	}
}
