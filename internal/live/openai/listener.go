package openai

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// listener bounds the connections that are open at once. That of netutil hides what they are, and streams are written
// to their sockets.
type listener struct {
	net.Listener
	places chan struct{} // has an element for each connection
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener: it waits for a place first.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &place{c, sync.OnceFunc(func() { <-l.places })}, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// place is a connection that frees its place when it is closed.
type place struct {
	net.Conn
	free func()
}

// SyscallConn implements syscall.Conn where the connection does.
func (p *place) SyscallConn() (syscall.RawConn, error) {
	c, ok := p.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return c.SyscallConn()
}

// Close implements net.Conn.
func (p *place) Close() error {
	defer p.free()
	return p.Conn.Close()
}
