package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
)

var update = flag.Bool("update", false, "rewrite docs/defaults.md")

func releasesRead(t *testing.T) []release {
	t.Helper()
	all, err := readReleases()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// TestScenariosTakeTheDefaultsThatWereRead: what a scenario leaves out is what the release does by itself.
func TestScenariosTakeTheDefaultsThatWereRead(t *testing.T) {
	for _, r := range releasesRead(t) {
		for i := range r.Defaults {
			d := &r.Defaults[i]
			name := fmt.Sprintf("%s %s %s %s", r.Project, r.Version, d.name(), d.Where)
			if d.Entry != "" {
				require.Equal(t, d.Value, entry(t, r.Engine, d.Entry), name)
			} else {
				require.Equal(t, d.Value, argument(t, &r, d), name)
			}
		}
	}
}

// argument returns the value that a scenario takes which says nothing of it.
func argument(t *testing.T, r *release, d *reading) string {
	const base = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload: {requests: 4, " +
		"arrivals: {process: poisson, rate: 1}, prompt_tokens: {distribution: fixed, mean: 8}, " +
		"output_tokens: {distribution: fixed, mean: 8}}\n"
	s, err := configs.Read("base", []byte(base), configs.Options{Set: slices.Concat(r.Set, d.Set)})
	require.NoError(t, err, "%s %s", r.Version, d.name())
	return at(t, s.YAML(), "pools.0."+d.Argument)
}

// TestEveryDefaultWasRead: each argument that an engine has of its own has a row of each release. The others are
// decodesim's, or rules that vLLM has no argument for.
func TestEveryDefaultWasRead(t *testing.T) {
	foreign := regexp.MustCompile(
		`^(aging_s|prediction_cv|host_link_bps|lora_load_bps|attention|version|preemption_victim)$`)
	for _, r := range releasesRead(t) {
		_, text, ok := catalog.Lookup("engines", r.Engine)
		require.True(t, ok)
		var root yaml.Node
		require.NoError(t, yaml.Unmarshal(text, &root))
		for _, pair := range strict.Pairs(strict.Child(root.Content[0], "arguments")) {
			key := pair[0].Value
			read := slices.ContainsFunc(r.Defaults, func(d reading) bool {
				return d.Argument == key || d.Entry == "arguments."+key
			})
			without := r.Version == "0.22.1" && key == "watermark" // which it does not have
			require.Equal(t, !foreign.MatchString(key) && !without, read, "%s %s: %s", r.Project, r.Version, key)
		}
	}
}

// entry returns a value of an engine's file.
func entry(t *testing.T, engine, path string) string {
	_, text, ok := catalog.Lookup("engines", engine)
	require.True(t, ok)
	return at(t, text, path)
}

// at returns the scalar at a path of keys and numbers.
func at(t *testing.T, text []byte, path string) string {
	var root yaml.Node
	require.NoError(t, yaml.Unmarshal(text, &root))
	n := root.Content[0]
	for key := range strings.SplitSeq(path, ".") {
		if i, err := strconv.Atoi(key); err == nil && n.Kind == yaml.SequenceNode {
			n = n.Content[i]
			continue
		}
		n = strict.Child(n, key)
		require.NotNil(t, n, path)
	}
	return n.Value
}

// TestThePageOfDefaults: docs/defaults.md is what the releases say; -update writes it.
func TestThePageOfDefaults(t *testing.T) {
	const file = "../../docs/defaults.md"
	want := page(releasesRead(t))
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "run go test ./tools/defaults -run Page -update")
}

// TestTheSourcesAreThoseThatWereRead compares the archives of the pinned checksums with what was read of them, where
// make defaults has left them.
func TestTheSourcesAreThoseThatWereRead(t *testing.T) {
	dir, err := archiveDir("")
	if err != nil {
		t.Skip(err)
	}
	for _, r := range releasesRead(t) {
		path := filepath.Join(dir, r.Archive)
		sum, err := checksum(path)
		if err != nil {
			t.Skipf("%s is not there: make defaults fetches it", r.Archive)
		}
		require.Equal(t, r.SHA256, sum)
		source, err := unpack(path, r.Root, r.sources())
		require.NoError(t, err)
		for i := range r.Defaults {
			require.Empty(t, r.Defaults[i].compare(source, false))
		}
	}
}

// A value that changes, a line that moves and a file that goes each have a message.
func TestDriftIsSeen(t *testing.T) {
	d := reading{Argument: "seqs", Source: "a.py:2-3", Digest: digest([]string{"x = 1", "y = 2"})}
	for _, c := range []struct {
		text  []string
		moves bool
		want  string
	}{
		{[]string{"", "  x = 1", "y = 2 "}, false, ""},
		{[]string{"", "", "x = 1", "y = 2"}, false, "a.py:2-3, for seqs, is not as it was read"},
		{[]string{"", "", "x = 1", "y = 2"}, true, ""},
		{[]string{"", "x = 1", "y = 3"}, true, "a.py:2-3, for seqs, is not as it was read"},
		{[]string{"x = 1"}, false, "a.py:2-3, for seqs, is not as it was read"},
		{nil, true, "a.py is not there any more"},
	} {
		source := map[string][]string{}
		if c.text != nil {
			source["a.py"] = c.text
		}
		require.Equal(t, c.want, d.compare(source, c.moves), c.text)
	}
}

func TestArchivesAreUnpacked(t *testing.T) {
	dir := t.TempDir()
	var tarred, zipped bytes.Buffer
	g := gzip.NewWriter(&tarred)
	w := tar.NewWriter(g)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "p-1/a.py", Size: 4, Mode: 0o600}))
	_, err := w.Write([]byte("b\nc\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, g.Close())
	z := zip.NewWriter(&zipped)
	f, err := z.Create("p-1/a.py")
	require.NoError(t, err)
	_, err = f.Write([]byte("b\nc\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, data := range map[string][]byte{"p-1.tar.gz": tarred.Bytes(), "p-1.whl": zipped.Bytes()} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		source, err := unpack(path, "p-1/", []string{"a.py", "gone.py"})
		require.NoError(t, err)
		require.Equal(t, map[string][]string{"a.py": {"b", "c", ""}}, source)
	}
}

func TestTheNewestReleaseIsOfTheSameKind(t *testing.T) {
	var files []indexed
	for _, name := range []string{
		"vllm-0.9.1.tar.gz", "vllm-0.33.0.tar.gz", "vllm-0.34.0rc1.tar.gz", "vllm-0.40.0-cp38.whl",
	} {
		files = append(files, indexed{Filename: name})
	}
	newest, version := newestLike(files, &release{Archive: "vllm-0.22.1.tar.gz", Version: "0.22.1"})
	require.Equal(t, []string{"vllm-0.33.0.tar.gz", "0.33.0"}, []string{newest.Filename, version})
	all := []release{{Project: "vllm", Version: "0.22.1"}, {Project: "vllm", Version: "0.33.0"}, {Project: "sglang"}}
	require.Equal(t, []bool{true, false, false}, []bool{superseded(all, 0), superseded(all, 1), superseded(all, 2)})
}

func TestWrongSourcesAreRefused(t *testing.T) {
	for _, source := range []string{"", "a.py", "a.py:0", "a.py:5-4", "a b.py:3"} {
		_, err := (&reading{Source: source}).lines()
		require.ErrorContains(t, err, "expected", source)
	}
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, []string{"more"}), `unexpected argument "more"`)
}
