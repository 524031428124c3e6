package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Seen is what a browser made of a page.
type Seen struct {
	Errors []string // of the console
	DOM    string   // when the scripts had run
	Beyond int      // pixels that the page is wider than the frame
	Canvas int      // plots that were drawn
	Harm   string   // the value of window.harm, which a page that was tricked sets
}

// browsers are the names of the one browser in the distributions.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// Phone is how many pixels of a narrow phone are wide.
const Phone = 360

// Asked reports whether pages are to be opened in a browser, as make test-pages does; a browser takes longer than all
// else that a page is tested for.
func Asked() bool { return os.Getenv("PAGES_IN_BROWSER") != "" }

// Open opens a page in a frame of so many pixels. Unless it was asked for, or without a browser, the test is skipped.
func Open(t *testing.T, page []byte, width int) Seen {
	t.Helper()
	browser := find(t)
	dir := t.TempDir()
	frame := fmt.Sprintf(`<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe src="page.html" style="width:%dpx;height:900px;border:0"></iframe><script>
onload = () => setTimeout(() => {
  const f = document.querySelector("iframe"), d = f.contentDocument;
  const beyond = d.documentElement.scrollWidth - d.documentElement.clientWidth;
  document.title = "seen " + beyond + " " + d.querySelectorAll(".uplot canvas").length + " " +
    (f.contentWindow.harm || "none");
}, 300);
</script>`, width)
	for name, content := range map[string][]byte{"page.html": page, "frame.html": []byte(frame)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return run(t, browser, dir)
}

// find returns the path of a browser, or skips the test.
func find(t *testing.T) string {
	t.Helper()
	if !Asked() {
		t.Skip("PAGES_IN_BROWSER is not set: make test-pages opens pages in a browser")
	}
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium on this machine: the page is not opened")
	return ""
}

var (
	seen    = regexp.MustCompile(`<title>seen (-?\d+) (\d+) (\w+)</title>`)
	console = regexp.MustCompile(`(?m)^.*CONSOLE.*$`)
)

func run(t *testing.T, browser, dir string) (s Seen) {
	t.Helper()
	var said string
	s.DOM, said = visit(t, browser, filepath.Join(dir, "frame.html"), "3000")
	s.Errors = console.FindAllString(said, -1)
	m := seen.FindStringSubmatch(s.DOM)
	if m == nil {
		t.Fatalf("the page was not read to its end:\n%s\n%s", s.DOM, said)
	}
	_, err := fmt.Sscan(strings.Join(m[1:], " "), &s.Beyond, &s.Canvas, &s.Harm)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Visit opens an address, and returns what its scripts made of it and what is on the console. Unless it was asked for,
// or without a browser, the test is skipped.
func Visit(t *testing.T, url string) (dom string, errors []string) {
	t.Helper()
	browser := find(t)
	dom, said := visit(t, browser, url, "20000")
	return dom, console.FindAllString(said, -1)
}

// profile returns a directory for what the browser keeps. Its processes write there until the last of them has ended,
// which is after the browser itself, so the directory is removed with patience.
func profile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "decodesim-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for began := time.Now(); os.RemoveAll(dir) != nil; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > patience {
				t.Fatalf("%s is still written to", dir)
			}
		}
	})
	return dir
}

// visit lets the scripts of a page run for so many milliseconds of the browser's clock.
func visit(t *testing.T, browser, url, budget string) (dom, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget="+budget,
		"--user-data-dir="+profile(t), "--dump-dom", url)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	return out.String(), errOut.String()
}
