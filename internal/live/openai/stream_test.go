package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dial connects to x as a client that writes its requests by hand.
func (x *service) dial() (net.Conn, *bufio.Reader) {
	x.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
	require.NoError(x.t, err)
	x.t.Cleanup(func() { c.Close() })
	require.NoError(x.t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c, bufio.NewReader(c)
}

// request is a request for a completion as it is on the wire.
func request(version, body string) string {
	return fmt.Sprintf("POST /v1/completions HTTP/%s\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", version,
		len(body), body)
}

const streamed = `{"prompt":"a","max_tokens":30,"ignore_eos":true,"stream":true,"n":2}`

// TestAConnectionServesOneRequestAfterAnother: streamed or not, also where the next one is sent before the answer to
// the one before it has come.
func TestAConnectionServesOneRequestAfterAnother(t *testing.T) {
	x := serve(t, nil)
	c, read := x.dial()
	whole := strings.Replace(streamed, "true,\"n\"", "false,\"n\"", 1)
	list := []string{streamed, whole, streamed, streamed, whole}
	for _, together := range []bool{false, true} {
		if together {
			for _, body := range list {
				_, err := io.WriteString(c, request("1.1", body))
				require.NoError(t, err)
			}
		}
		for _, body := range list {
			if !together {
				_, err := io.WriteString(c, request("1.1", body))
				require.NoError(t, err)
			}
			a, err := http.ReadResponse(read, nil)
			require.NoError(t, err)
			text, err := io.ReadAll(a.Body)
			require.NoError(t, err)
			require.Equal(t, 200, a.StatusCode, string(text))
			require.False(t, a.Close)
			if body == streamed {
				require.Equal(t, []string{"chunked"}, a.TransferEncoding)
				require.Equal(t, [2]int{120, 120}, lengths(events(t, string(text))))
			} else {
				require.Equal(t, 60, parse(t, string(text)).Usage.Completion)
			}
		}
	}
	require.Zero(t, read.Buffered())
}

// lengths returns how much text each of two answers has.
func lengths(all []answer) (n [2]int) {
	for _, e := range all {
		n[e.Choices[0].Index] += len(e.Choices[0].Text)
	}
	return n
}

// A client of HTTP/1.0 gets a stream that ends with its connection.
func TestAnOldClientGetsNoChunks(t *testing.T) {
	x := serve(t, nil)
	c, read := x.dial()
	_, err := io.WriteString(c, request("1.0", streamed))
	require.NoError(t, err)
	a, err := http.ReadResponse(read, nil)
	require.NoError(t, err)
	require.Empty(t, a.TransferEncoding)
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.Equal(t, [2]int{120, 120}, lengths(events(t, string(text))))
}

// TestWhoReadsLateGetsEverything: what a connection does not take at once is sent when it does, and then its stream is
// as any other.
func TestWhoReadsLateGetsEverything(t *testing.T) {
	x := serve(t, nil, "pools.serve.replicas=1")
	c, _ := x.dial()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
	_, err := io.WriteString(c, request("1.1",
		`{"prompt":"a","n":128,"max_tokens":600,"ignore_eos":true,"stream":true}`))
	require.NoError(t, err)
	time.Sleep(200 * time.Millisecond)
	a, err := http.ReadResponse(bufio.NewReaderSize(c, 64<<10), nil)
	require.NoError(t, err)
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	said := map[int]int{}
	for _, e := range events(t, string(text)) {
		said[e.Choices[0].Index] += len(e.Choices[0].Text)
	}
	require.Len(t, said, 128)
	for _, n := range said {
		require.Equal(t, 600*4, n)
	}
}
