package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs"
)

// TestManifestsStartWhatThereIs: every command of docs/live/*.yaml is one of this program, its ports are those that it
// listens on, and it has longer to end than it gives to requests under way.
func TestManifestsStartWhatThereIs(t *testing.T) {
	files, err := filepath.Glob("../../docs/live/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		containers := 0
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var document map[string]any
			err := d.Decode(&document)
			if err == io.EOF {
				break
			}
			require.NoError(t, err, file)
			walkManifest(document, 0, func(container map[string]any, grace time.Duration) {
				containers++
				checkContainer(t, file, container, grace)
			})
		}
		require.Equal(t, 1, containers, file)
	}
}

// walkManifest calls do with every container whose command is this program, and how long it has to end.
func walkManifest(x any, grace time.Duration, do func(map[string]any, time.Duration)) {
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			walkManifest(e, grace, do)
		}
	case map[string]any:
		if s, ok := x["terminationGracePeriodSeconds"].(int); ok {
			grace = time.Duration(s) * time.Second
		}
		if s, ok := x["stop_grace_period"].(string); ok {
			grace, _ = time.ParseDuration(s)
		}
		if command, ok := x["command"].([]any); ok && command[0] == "/decodesim" {
			do(x, grace)
		}
		for _, e := range x {
			walkManifest(e, grace, do)
		}
	}
}

func checkContainer(t *testing.T, file string, container map[string]any, grace time.Duration) {
	var args []string
	for _, a := range container["command"].([]any)[1:] {
		args = append(args, a.(string))
	}
	require.Equal(t, "serve", args[0], file)
	c := newServe(io.Discard, io.Discard)
	require.NoError(t, c.ParseFlags(args[1:]), file)
	require.Len(t, c.Flags().Args(), 1, file)
	require.Contains(t, configs.ScenarioNames(), c.Flags().Arg(0), file)
	given, err := c.Flags().GetDuration("grace")
	require.NoError(t, err)
	require.Greater(t, grace, given, "%s: time to end", file)
	host, err := c.Flags().GetString("host")
	require.NoError(t, err)
	require.True(t, host != "0.0.0.0" || c.Flags().Changed("api-key-file"), "%s: a token beyond this machine", file)
	first, err := c.Flags().GetInt("per-replica-ports")
	require.NoError(t, err)
	port, err := c.Flags().GetInt("port")
	require.NoError(t, err)
	listens := []string{strconv.Itoa(port)}
	for i := range 4 {
		if first > 0 {
			listens = append(listens, strconv.Itoa(first+i))
		}
	}
	for _, p := range container["ports"].([]any) {
		number := ""
		switch p := p.(type) {
		case string: // ADDRESS:PORT:PORT of the container
			number = p[len(p)-4:]
		case map[string]any:
			number = strconv.Itoa(p["containerPort"].(int))
		}
		require.True(t, slices.Contains(listens, number), "%s: port %s of %v", file, number, listens)
	}
}
