package workers

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/nats-io/nats.go"
)

// Address is a queue that somebody else serves.
type Address struct {
	URL   string // of one server of a cluster, or of several with commas between
	Token string // empty: the URL has it, or none is needed
	CA    string // a file of certificates of authorities; empty: those of the system
	Pin   string // the SHA-256 of the server's certificate in hexadecimal; empty: an authority vouches for it
}

// reconnectWait is how long a connection that was lost waits before it is tried anew.
const reconnectWait = 500 * time.Millisecond

// portUsual is the port of NATS servers that name none.
const portUsual = "4222"

// parse checks what the URL says. Beyond loopback the connection is encrypted, whatever the scheme.
func (a *Address) parse() (urls []string, secure bool, err error) {
	for _, text := range strings.Split(a.URL, ",") {
		text = strings.TrimSpace(text)
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return nil, false, fmt.Errorf("queue %q: expected nats://HOST:PORT or tls://HOST:PORT", hidden(text))
		}
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), portUsual)
		}
		secure = secure || u.Scheme == "tls" || !isLoopback(u.Hostname())
		urls = append(urls, u.String())
	}
	if a.Pin != "" {
		if pin, err := hex.DecodeString(a.Pin); err != nil || len(pin) != sha256.Size {
			return nil, false, fmt.Errorf("--pin %s: expected the 64 hexadecimal digits that the coordinator has printed", a.Pin)
		}
		secure = true
	}
	return urls, secure, nil
}

// hidden returns a URL without its token.
func hidden(text string) string {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if _, host, ok := strings.Cut(rest, "@"); ok {
			return scheme + "://" + host
		}
	}
	return text
}

// isLoopback reports whether only this machine can reach a host.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// connect connects, and goes on trying after a connection is lost.
func (a *Address) connect(name string, more ...nats.Option) (*nats.Conn, error) {
	urls, secure, err := a.parse()
	if err != nil {
		return nil, err
	}
	options := append(usual(name), more...)
	if a.Token != "" {
		options = append(options, nats.Token(a.Token))
	}
	if secure {
		config, err := a.tls()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(config))
	}
	c, err := nats.Connect(strings.Join(urls, ","), options...)
	if why := a.refusal(err); why != "" {
		return nil, fmt.Errorf("queue %s %s", hidden(a.URL), why)
	}
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", hidden(a.URL), err)
	}
	return c, nil
}

func usual(name string) []nats.Option {
	return []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.Timeout(5 * time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
}

// tls returns how the server is recognised.
func (a *Address) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if a.Pin != "" {
		config.InsecureSkipVerify = true // no authority knows it; its fingerprint says who it is
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if got := fingerprint(s.PeerCertificates[0].Raw); !strings.EqualFold(got, a.Pin) {
				return otherCertificate{got}
			}
			return nil
		}
		return config, nil
	}
	if a.CA == "" {
		return config, nil
	}
	pem, err := inputs.ReadShort(a.CA)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--tls-ca %s: no certificate in it; expected PEM", a.CA)
	}
	return config, nil
}

// fingerprint returns the SHA-256 of a certificate.
func fingerprint(der []byte) string {
	h := sha256.Sum256(der)
	return hex.EncodeToString(h[:])
}
