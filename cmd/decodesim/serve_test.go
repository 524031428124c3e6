package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const served = `name: served
model: llama-3.1-8b
pools: [{gpu: h100-sxm, replicas: 2}]
workload:
  arrivals: {process: poisson, rate: 1}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: lognormal, mean: 20, cv: 1}
  requests: 10
`

// TestAServiceLeavesARunThatRerunsItself: a signal ends it when what is under way has ended, and run gives from the
// files that it leaves the same summary of requests and latencies.
func TestAServiceLeavesARunThatRerunsItself(t *testing.T) {
	inDir(t, served)
	c := program(t, "serve", "chat.yaml", "--port", "0", "--speed", "5", "--out", "out", "--json")
	said, err := c.StderrPipe()
	require.NoError(t, err)
	var printed strings.Builder
	c.Stdout = &printed
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://[^ ;,]+`).FindString(line)
	require.NotEmpty(t, url, line)
	for range 5 {
		a, err := http.Post(url+"/completions", "application/json", strings.NewReader(`{"prompt":"one two","max_tokens":30}`))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, a.Body)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		require.Equal(t, 200, a.StatusCode)
	}
	under, err := http.Post(url+"/completions", "application/json",
		strings.NewReader(`{"prompt":"last","max_tokens":200,"ignore_eos":true,"stream":true}`))
	require.NoError(t, err)
	defer under.Body.Close()
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	text, err := io.ReadAll(under.Body)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(text), "data: [DONE]\n\n"), "what is under way ends")
	require.NoError(t, c.Wait())
	parts := func(text []byte) (s struct {
		Requests, Tokens, Latency, Pools any
	}) {
		require.NoError(t, json.Unmarshal(text, &s))
		return s
	}
	live := parts([]byte(printed.String()))
	file, err := os.ReadFile("out/summary.json")
	require.NoError(t, err)
	require.Equal(t, live, parts(file))
	again, err := program(t, "run", "out/scenario.yaml", "--json").Output()
	require.NoError(t, err)
	require.Equal(t, live, parts(again))
}

func TestASecondSignalEndsAServiceAtOnce(t *testing.T) {
	inDir(t, served)
	c := program(t, "serve", "chat.yaml", "--port", "0", "--speed", "0.01")
	said, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://[^ ;,]+`).FindString(line)
	go func() {
		a, err := http.Post(url+"/completions", "application/json", strings.NewReader(`{"prompt":"x","max_tokens":9}`))
		if err == nil {
			a.Body.Close()
		}
	}()
	require.Eventually(t, func() bool {
		a, err := http.Get(strings.TrimSuffix(url, "/v1") + "/summary")
		if err != nil {
			return false
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		return err == nil && strings.Contains(string(text), `"arrived":1`)
	}, 20*time.Second, 20*time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	sent := time.Now()
	require.Error(t, c.Wait())
	require.Less(t, time.Since(sent), 5*time.Second)
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal(), "which a shell says as 143")
}

func TestServeRefusesWhatCannotBeMeant(t *testing.T) {
	inDir(t, served)
	require.NoError(t, os.WriteFile("key", nil, 0o600))
	for args, want := range map[string]string{
		"--speed 0":                    "--speed 0: expected a number from 0.001 to 10000",
		"--port 70000":                 "--port 70000: expected a port",
		"--host 0.0.0.0":               "expected --api-key or --api-key-file beside it",
		"--host nowhere.invalid":       "is no address of this machine",
		"--api-key a --api-key-file b": "expected one of them",
		"--api-key-file key":           "is empty; expected a token",
		"--bytes-per-token 1":          "expected 2 to 64",
		"--served-model-name a\u202eb": `"a\u202eb": expected a name without characters that do not print`,
		"--served-model-name " + strings.Repeat("x", 4097): "has 4097 bytes; expected at most 4096",
		"--max-body 10":                "expected bytes from 1024",
		"--set stream.rtt_jitter_ms=3": "clients of a live endpoint are on a real one; accepted: 0",
	} {
		out, err := program(t, append([]string{"serve", "chat.yaml", "--port", "0"}, strings.Fields(args)...)...).
			CombinedOutput()
		require.Error(t, err, args)
		assert.Contains(t, string(out), want, args)
		assert.Equal(t, 1, strings.Count(string(out), "\n"), "one line: %s", out)
	}
}
