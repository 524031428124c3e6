package main

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// asServer has the test binary be a NATS server, as which it says.
const asServer = "NATS_SERVER_OF_A_TEST"

// natsServer is a server of a cluster.
type natsServer struct {
	Name, Dir     string
	Port, Cluster int
	Routes        []string
}

// serve is what a process does that is a server, until it is killed.
func (n *natsServer) serve() error {
	options := &server.Options{ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, NoLog: true, JetStream: true,
		StoreDir: n.Dir, SyncAlways: true,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: n.Cluster}}
	for _, route := range n.Routes {
		u, err := url.Parse(route)
		if err != nil {
			return err
		}
		options.Routes = append(options.Routes, u)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

// natsCluster starts a cluster of three processes.
func natsCluster(t *testing.T) (urls []string, kill func(name string)) {
	self, err := os.Executable()
	require.NoError(t, err)
	number := func() int {
		n, err := strconv.Atoi(port(t)[len("127.0.0.1:"):])
		require.NoError(t, err)
		return n
	}
	var all []natsServer
	var routes []string
	for _, name := range []string{"one", "two", "three"} {
		n := natsServer{Name: name, Dir: filepath.Join(t.TempDir(), name), Port: number(), Cluster: number()}
		routes = append(routes, "nats://127.0.0.1:"+strconv.Itoa(n.Cluster))
		urls = append(urls, "nats://127.0.0.1:"+strconv.Itoa(n.Port))
		all = append(all, n)
	}
	by := map[string]*exec.Cmd{}
	for _, n := range all {
		n.Routes = routes
		text, err := json.Marshal(n)
		require.NoError(t, err)
		c := exec.Command(self)
		c.Env = append(os.Environ(), asServer+"="+string(text))
		require.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		by[n.Name] = c
	}
	js := jetStreamOf(t, strings.Join(urls, ","))
	require.Eventually(t, func() bool {
		_, err := js.AccountInfo(t.Context())
		return err == nil && len(js.Conn().Servers()) >= len(all)
	}, time.Minute, 100*time.Millisecond, "the servers have not found each other")
	return urls, func(name string) {
		require.Contains(t, by, name)
		require.NoError(t, by[name].Process.Signal(syscall.SIGKILL))
	}
}

func jetStreamOf(t *testing.T, url string) jetstream.JetStream {
	c, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	require.NoError(t, err)
	return js
}

// leader is the server that leads the stream of runs, once there is one.
func leader(t *testing.T, url string, said *lockedText) (name string, copies int) {
	js := jetStreamOf(t, url)
	require.Eventually(t, func() bool {
		names := js.StreamNames(t.Context(), jetstream.WithStreamListSubject("decodesim.*.*"))
		for stream := range names.Name() {
			if s, err := js.Stream(t.Context(), stream); err == nil && s.CachedInfo().Cluster != nil {
				name, copies = s.CachedInfo().Cluster.Leader, s.CachedInfo().Config.Replicas
			}
		}
		return name != ""
	}, time.Minute, 50*time.Millisecond, said)
	return name, copies
}

// TestAClusterLosesAServer: the queue of a sweep, and that of a search, is in three servers, and the one that leads is
// killed while workers make their runs. The files are those of one process.
func TestAClusterLosesAServer(t *testing.T) {
	if !soak.Asked() {
		t.Skip("set DECODESIM_SOAK=1: a cluster has to elect its leaders")
	}
	unasked(t)
	inDir(t, handed)
	require.NoError(t, os.WriteFile("study.yaml", []byte(distributed), 0o600))
	for name, args := range map[string]func(out string) []string{
		"sweep": func(out string) []string { return append(sweepArgs(out), "--set", "workload.requests=8000") },
		"size":  searchArgs,
	} {
		serial := "serial-" + name
		require.NoError(t, program(t, args(serial)...).Run())
		urls, kill := natsCluster(t)
		said := newLockedText()
		// A client that is given one server knows the others by it.
		c := process(t, said, append(args(name), "--queue", urls[0], "--workers", "2")...)
		led, copies := leader(t, strings.Join(urls, ","), said)
		assert.Equal(t, 3, copies, "the cluster has three servers")
		time.Sleep(500 * time.Millisecond)
		kill(led)
		t.Logf("%s: killed %s", name, led)
		ends(t, c, said)
		sameFiles(t, serial, name)
	}
}
