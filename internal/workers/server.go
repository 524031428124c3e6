package workers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/decodesim/decodesim/configs/inputs"
)

// Listen is how a coordinator serves its queue itself.
type Listen struct {
	Address string // HOST:PORT; port 0: any that is free
	Dir     string // that streams, token and certificate are in
	Cert    string // files of a certificate and its key; empty: one is made where one is needed
	Key     string
}

// Server is an embedded NATS server.
type Server struct {
	Token     string // that clients must have
	TokenFile string
	Pin       string // of the certificate that was made for it; empty: it has none, or an authority vouches for it
	secure    bool
	host      string
	dir       string
	nats      *server.Server
}

// readyWithin is how long a server may take to recover its streams.
const readyWithin = time.Minute

// Serve starts a server. What was in its directory before is in its streams again.
func Serve(l Listen) (*Server, error) {
	host, port, err := l.parse()
	if err != nil {
		return nil, err
	}
	if err := claimFolder(l.Dir); err != nil {
		return nil, err
	}
	s := &Server{host: host, dir: l.Dir, secure: !isLoopback(host) || l.Cert != ""}
	s.Token, s.TokenFile, err = ownToken(l.Dir)
	if err != nil {
		return nil, err
	}
	options := &server.Options{ServerName: "decodesim", Host: host, Port: port, NoLog: true, NoSigs: true,
		Authorization: s.Token, JetStream: true, StoreDir: filepath.Join(l.Dir, streamsName),
		SyncAlways: true} // a result that was acknowledged outlives the machine
	if s.secure {
		certificate, err := s.certificate(l)
		if err != nil {
			return nil, err
		}
		options.TLS, options.TLSTimeout = true, 5
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}}
	}
	s.nats, err = server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("queue at %s: %w", l.Address, err)
	}
	// The server ends the process if it cannot listen, so that is found out before.
	if err := free(net.JoinHostPort(host, strconv.Itoa(max(0, port)))); err != nil {
		return nil, fmt.Errorf("--listen %s: %w", l.Address, err)
	}
	s.nats.Start()
	if !s.nats.ReadyForConnections(readyWithin) {
		s.nats.Shutdown()
		return nil, fmt.Errorf("queue at %s is not ready after %s", l.Address, readyWithin)
	}
	return s, nil
}

func (l *Listen) parse() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(l.Address)
	port, wrong := strconv.Atoi(text)
	if err != nil || wrong != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("--listen %s: expected HOST:PORT, such as 127.0.0.1:4222 or 0.0.0.0:4222", l.Address)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if (l.Cert == "") != (l.Key == "") {
		return "", 0, errors.New("--tls-cert and --tls-key: expected both or none")
	}
	return host, port, nil
}

func free(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// certificate returns the one that was given, or one of ours.
func (s *Server) certificate(l Listen) (c tls.Certificate, err error) {
	if l.Cert != "" {
		cert, err := inputs.ReadShort(l.Cert)
		if err != nil {
			return c, fmt.Errorf("--tls-cert: %w", err)
		}
		key, err := inputs.ReadShort(l.Key)
		if err != nil {
			return c, fmt.Errorf("--tls-key: %w", err)
		}
		c, err = tls.X509KeyPair(cert, key)
		if err != nil {
			return c, fmt.Errorf("--tls-cert %s and --tls-key %s: %w", l.Cert, l.Key, err)
		}
		return c, nil
	}
	c, err = ownCertificate(l.Dir, s.reached())
	if err == nil {
		s.Pin = fingerprint(c.Certificate[0])
	}
	return c, err
}

// reached is the name by which other machines may reach the server.
func (s *Server) reached() string {
	if ip := net.ParseIP(s.host); ip == nil || !ip.IsUnspecified() {
		return s.host
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return s.host
}

// URL is where the server is, without its token.
func (s *Server) URL() string {
	scheme := "nats"
	if s.secure {
		scheme = "tls"
	}
	port := s.nats.Addr().(*net.TCPAddr).Port
	return scheme + "://" + net.JoinHostPort(s.reached(), strconv.Itoa(port))
}

// connect connects to the server within the process.
func (s *Server) connect(name string) (*nats.Conn, error) {
	return nats.Connect("", append(usual(name), nats.InProcessServer(s.nats), nats.Token(s.Token))...)
}

// Close ends the server. Its streams stay in its directory.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
