package explore

import (
	"bytes"
	"compress/gzip"
	_ "embed" // what the page is made of
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/page"
)

//go:embed ask-worker.js
var askWorkerJS string

//go:embed worker.js
var workerJS []byte

// The files of a program for a page, as make site leaves them.
const (
	wasmName    = "decodesim.wasm"
	execName    = "wasm_exec.js" // Go's own, of the release that compiled the program
	licenceName = "LICENSE"      // of Go, which wasm_exec.js refers to
)

// Site is the page as files, for a site that serves nothing but files.
type Site struct {
	name     string
	page     *page.Live
	wasm     []byte // gzip
	exec     []byte
	licences []byte
}

// NewSite makes the page of a scenario's text, with the program that a directory has.
func NewSite(text []byte, env []string, program fs.FS) (*Site, error) {
	ours := variables(env)
	b, err := newBase("", text, ours)
	if err != nil {
		return nil, err
	}
	if key := reads(b.scenario); key != "" {
		return nil, fmt.Errorf("%s is a file, which a page without a server cannot read; expected what is built in", key)
	}
	inside, err := json.Marshal(own{string(text), ours})
	if err != nil {
		return nil, err
	}
	s := &Site{name: b.scenario.Name, page: newPage(b.scenario.Name, askWorkerJS)}
	s.page.Body = template.HTML(`<script type="application/json" id="own">`+string(inside)+"</script>\n") + s.page.Body
	wasm, err := fs.ReadFile(program, wasmName)
	if err == nil && !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		err = fmt.Errorf("%s is no WebAssembly", wasmName)
	}
	if err != nil {
		return nil, err
	}
	s.wasm, err = packed(wasm)
	s.exec, err = readNext(err, program, execName)
	s.licences, err = readNext(err, program, licenceName)
	return s, err
}

// readNext reads a file where nothing has failed yet.
func readNext(err error, from fs.FS, name string) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(from, name)
}

// packed returns the gzip of b, the same each time.
func packed(b []byte) ([]byte, error) {
	var to bytes.Buffer
	w, err := gzip.NewWriterLevel(&to, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(b)
	err = errors.Join(err, w.Close())
	return to.Bytes(), err
}

// Name returns the name of the scenario.
func (s *Site) Name() string { return s.name }

// SiteFiles are the names of the files of a site.
func SiteFiles() []string {
	return []string{"index.html", "worker.js", execName, execName + "." + licenceName, wasmName + ".gz"}
}

// WriteTo writes the files of the site.
func (s *Site) WriteTo(d *output.Dir) error {
	policy := "worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
	return errors.Join(
		d.WriteFile("index.html", func(w io.Writer) error { return s.page.WriteStatic(w, policy) }),
		d.WriteBytes("worker.js", workerJS),
		d.WriteBytes(execName, s.exec),
		d.WriteBytes(execName+"."+licenceName, s.licences),
		d.WriteBytes(wasmName+".gz", s.wasm))
}
