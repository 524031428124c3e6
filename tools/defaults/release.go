package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

//go:embed releases/*.yaml
var files embed.FS

// release is a release of an engine whose source was read.
type release struct {
	Project  string    `yaml:"project"` // of the Python package index
	Version  string    `yaml:"version"`
	Archive  string    `yaml:"archive"`
	SHA256   string    `yaml:"sha256"`
	Root     string    `yaml:"root,omitempty"` // directory of the archive that paths start from
	Engine   string    `yaml:"engine"`
	Set      []string  `yaml:"set,omitempty"` // of a scenario that runs under this release
	Defaults []reading `yaml:"defaults"`
}

// reading is a default, and the lines it was read from.
type reading struct {
	Argument string   `yaml:"argument,omitempty"` // of a pool, by the engine's own name
	Entry    string   `yaml:"entry,omitempty"`    // or the path of a value in the engine's file
	Where    string   `yaml:"where,omitempty"`    // on what it depends; empty: on nothing
	Set      []string `yaml:"set,omitempty"`      // of a scenario where it is so
	Value    string   `yaml:"value"`
	Source   string   `yaml:"source"` // file:first-last
	Digest   string   `yaml:"digest"` // of these lines, see digest
}

// readReleases reads the releases that come with the program, by name.
func readReleases() ([]release, error) {
	entries, err := files.ReadDir("releases")
	if err != nil {
		return nil, err
	}
	all := make([]release, len(entries))
	for i, e := range entries {
		name := path.Join("releases", e.Name())
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if _, err := strict.Decode(name, data, &all[i]); err != nil {
			return nil, err
		}
		for j := range all[i].Defaults {
			if _, err := all[i].Defaults[j].lines(); err != nil {
				return nil, fmt.Errorf("%s: defaults[%d]: %w", name, j, err)
			}
		}
	}
	return all, nil
}

// lines is a range of lines of a file, counted from 1.
type lines struct {
	file        string
	first, last int
}

var sourcePattern = regexp.MustCompile(`^(\S+):(\d+)(?:-(\d+))?$`)

func (d *reading) lines() (l lines, err error) {
	m := sourcePattern.FindStringSubmatch(d.Source)
	if m == nil {
		return l, fmt.Errorf("source: %q; expected file:first-last", d.Source)
	}
	l.file = m[1]
	l.first, _ = strconv.Atoi(m[2])
	l.last = l.first
	if m[3] != "" {
		l.last, _ = strconv.Atoi(m[3])
	}
	if l.first < 1 || l.last < l.first {
		return l, fmt.Errorf("source: %q; expected rising lines from 1 on", d.Source)
	}
	return l, nil
}

// digest returns the first 12 digits of the SHA-256 of lines, each without the space around it.
func digest(text []string) string {
	h := sha256.New()
	for _, line := range text {
		h.Write([]byte(strings.TrimSpace(line) + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
