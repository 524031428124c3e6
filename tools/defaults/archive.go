package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// simple returns the address of the simple API of the Python package index: PIP_INDEX_URL, or what pip asks by default.
var simple = sync.OnceValues(func() (string, error) {
	address := os.Getenv("PIP_INDEX_URL")
	if address == "" {
		const ask = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
		said, err := exec.Command("python3", "-c", ask).Output()
		if err != nil {
			return "", fmt.Errorf("python3 with pip, to ask for its index: %w", err)
		}
		address = strings.TrimSpace(string(said))
	}
	return strings.TrimSuffix(address, "/") + "/", nil
})

// indexed is a file that the index has of a project.
type indexed struct {
	Filename string            `json:"filename"`
	URL      string            `json:"url"`
	Hashes   map[string]string `json:"hashes"`
}

// listed returns the files of a project.
func listed(ctx context.Context, project string) ([]indexed, error) {
	index, err := simple()
	if err != nil {
		return nil, err
	}
	body, err := get(ctx, index+project+"/", "application/vnd.pypi.simple.v1+json")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var page struct {
		Files []indexed `json:"files"`
	}
	err = json.NewDecoder(body).Decode(&page)
	return page.Files, err
}

// get opens what stands at a URL.
func get(ctx context.Context, url, accept string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		q.Header.Set("Accept", accept)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	}
	return answer.Body, nil
}

// fetch returns the path of an archive in dir, after a download unless it is there, and refuses one of another
// checksum; empty: any will do.
func fetch(ctx context.Context, dir string, f *indexed, sum string) (string, error) {
	path := filepath.Join(dir, filepath.Base(f.Filename))
	if have, err := checksum(path); err == nil && (sum == "" || have == sum) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	body, err := get(ctx, f.URL, "")
	if err != nil {
		return "", err
	}
	defer body.Close()
	to, err := os.CreateTemp(dir, "download-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, body)
	err = errors.Join(err, to.Close())
	if have, sumErr := checksum(to.Name()); err == nil && sum != "" && have != sum {
		err = errors.Join(sumErr, fmt.Errorf("%s has the checksum %s; expected %s", f.URL, have, sum))
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(to.Name()))
	}
	return path, os.Rename(to.Name(), path)
}

// checksum returns the SHA-256 of a file.
func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unpack returns the lines of some files of an archive, a .tar.gz or a wheel. One that is not there is absent.
func unpack(path, root string, names []string) (map[string][]string, error) {
	found := map[string][]string{}
	keep := func(name string, r io.Reader) error {
		name = strings.TrimPrefix(name, root)
		if !slices.Contains(names, name) {
			return nil
		}
		text, err := io.ReadAll(r)
		found[name] = strings.Split(string(text), "\n")
		return err
	}
	if strings.HasSuffix(path, ".whl") {
		return found, unzip(path, keep)
	}
	return found, untar(path, keep)
}

func unzip(path string, keep func(string, io.Reader) error) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return err
		}
		err = errors.Join(keep(f.Name, r), r.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

func untar(path string, keep func(string, io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := keep(h.Name, t); err != nil {
			return err
		}
	}
}

// numbered matches archives of final releases: no candidate, no build of a day.
var numbered = regexp.MustCompile(`^[A-Za-z0-9_]+-(\d+(?:\.\d+)*)(\.tar\.gz|-.*\.whl)$`)

// newestLike returns the newest final release whose archive is of the same kind as that of r, and its version.
func newestLike(files []indexed, r *release) (newest indexed, version string) {
	kind := strings.Replace(r.Archive, r.Version, "", 1)
	for _, f := range files {
		m := numbered.FindStringSubmatch(f.Filename)
		if m == nil || strings.Replace(f.Filename, m[1], "", 1) != kind {
			continue
		}
		if version == "" || slices.Compare(parts(m[1]), parts(version)) > 0 {
			newest, version = f, m[1]
		}
	}
	return newest, version
}

func parts(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}
