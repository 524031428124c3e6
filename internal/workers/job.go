package workers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/scratch"
)

// Job is what workers need to make any run of it.
type Job struct {
	ID      string          `json:"id"` // the same for the same runs; letters and digits
	Kind    string          `json:"kind"`
	Name    string          `json:"name"` // for people
	Version string          `json:"version"`
	Spec    json.RawMessage `json:"spec"`
	Dir     string          `json:"dir"` // the coordinator's working directory
	Files   []File          `json:"files,omitempty"`
}

// File is a file of the coordinator that the job reads.
type File struct {
	Path   string `json:"path"` // absolute
	SHA256 string `json:"sha256"`
}

// NewJob returns a job of the files at these paths, seen from the working directory.
func NewJob(ctx context.Context, id, kind, name, version string, spec any, paths []string) (Job, error) {
	j := Job{ID: id, Kind: kind, Name: name, Version: version}
	var err error
	j.Spec, err = json.Marshal(spec)
	if err != nil {
		return j, err
	}
	j.Dir, err = os.Getwd()
	if err != nil {
		return j, err
	}
	for _, path := range paths {
		path, err = filepath.Abs(path)
		if err != nil {
			return j, err
		}
		h := sha256.New()
		if err := inputs.CopyTo(ctx, h, path); err != nil {
			return j, err
		}
		j.Files = append(j.Files, File{path, hex.EncodeToString(h.Sum(nil))})
	}
	return j, nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// summed copies what from says, and returns its SHA-256.
func summed(to io.Writer, from io.Reader) (sum string, err error) {
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), from); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// upload puts the files of a job into a store, a part of one at a time.
func (j *Job) upload(ctx context.Context, to jetstream.ObjectStore) error {
	for _, f := range j.Files {
		file, err := inputs.Open(f.Path)
		if err != nil {
			return notTheQueue{err}
		}
		h := sha256.New()
		_, err = to.Put(ctx, jetstream.ObjectMeta{Name: f.SHA256}, io.TeeReader(file, h))
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("%s cannot be put into the queue: %w", f.Path, err)
		}
		if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
			return notTheQueue{fmt.Errorf("%s has changed since it was read", f.Path)}
		}
	}
	return nil
}

// mirror is a copy of the coordinator's files at their paths below a root, so that relative paths lead to them.
type mirror struct {
	root string
	dir  *scratch.Dir // that root is, by its shortest path
}

// newMirror downloads the files of a job.
func newMirror(ctx context.Context, j *Job, from jetstream.ObjectStore) (m mirror, err error) {
	m.dir, err = scratch.New("worker")
	if err != nil {
		return m, err
	}
	m.root, err = filepath.EvalSymlinks(m.dir.Path()) // as the working directory will be named
	if err != nil {
		return m, err
	}
	if err := os.MkdirAll(m.at(j.Dir), 0o700); err != nil {
		return m, err
	}
	for _, f := range j.Files {
		err := patiently(ctx, func() error { return m.download(ctx, f, from) })
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// download puts a file of the coordinator into the mirror, a part of it at a time.
func (m mirror) download(ctx context.Context, f File, from jetstream.ObjectStore) error {
	object, err := from.Get(ctx, f.SHA256)
	if err != nil {
		err = fmt.Errorf("%s cannot be read from the queue: %w", f.Path, err)
		if errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			return notTheQueue{err} // the job has ended
		}
		return err
	}
	defer func() { _ = object.Close() }()
	if err := os.MkdirAll(filepath.Dir(m.at(f.Path)), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(m.at(f.Path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum, err := summed(file, object)
	switch closed := file.Close(); {
	case err != nil:
		return fmt.Errorf("%s cannot be read from the queue: %w", f.Path, err)
	case sum != f.SHA256:
		return fmt.Errorf("%s is damaged in the queue", f.Path)
	default:
		return closed
	}
}

// at returns where a path of the coordinator is mirrored. Nothing leads out of the mirror.
func (m mirror) at(path string) string { return filepath.Join(m.root, filepath.Join("/", path)) }

// original puts the coordinator's paths into text in place of the mirror's.
func (m mirror) original(text []byte) []byte {
	return []byte(strings.ReplaceAll(string(text), m.root, ""))
}

func (m mirror) remove() { m.dir.Remove() }
