package pagetest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Browser is a page in a headless browser that is driven as by hand, through the DevTools protocol on a pair of pipes.
type Browser struct {
	t       *testing.T
	to      io.Writer
	answers chan message
	session string
	asked   int
	Errors  []string // of the console and of scripts, so far
}

// message is one of the protocol, whichever way it goes.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// patience is how long anything may take on a machine that is busy.
const patience = 30 * time.Second

// Drive opens an address in a window of so many pixels. Unless it was asked for, or without a browser, the test is
// skipped.
func Drive(t *testing.T, url string, width, height int) *Browser {
	t.Helper()
	browser := find(t)
	b := &Browser{t: t, answers: make(chan message, 1<<10)}
	b.start(browser)
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Accessibility"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1,
		"mobile": false}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	return b
}

// start runs the browser, and reads what it says until the test ends.
func (b *Browser) start(path string) {
	b.t.Helper()
	theirs, to, err := os.Pipe()
	b.check(err)
	from, its, err := os.Pipe()
	b.check(err)
	c := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--remote-debugging-pipe", "--user-data-dir="+profile(b.t))
	c.ExtraFiles = []*os.File{theirs, its}
	b.check(c.Start())
	b.to = to
	b.check(theirs.Close())
	b.check(its.Close())
	b.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = to.Close()
	})
	go func() {
		defer close(b.answers)
		for r := bufio.NewReader(from); ; {
			text, err := r.ReadBytes(0)
			var m message
			if err != nil || json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
				return
			}
			b.answers <- m
		}
	}()
}

func (b *Browser) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// call asks the browser, and reads the answer into result.
func (b *Browser) call(method string, params, result any) {
	b.t.Helper()
	b.asked++
	m := message{ID: b.asked, Method: method, Session: b.session}
	if params != nil {
		text, err := json.Marshal(params)
		b.check(err)
		m.Params = text
	}
	text, err := json.Marshal(m)
	b.check(err)
	_, err = b.to.Write(append(text, 0))
	b.check(err)
	for overdue := time.After(patience); ; {
		select {
		case <-overdue:
			b.t.Fatalf("%s has no answer", method)
		case got, open := <-b.answers:
			switch {
			case !open:
				b.t.Fatalf("the browser ended before it answered %s", method)
			case got.ID == 0:
				b.note(&got)
			case got.ID == b.asked:
				if got.Error != nil {
					b.t.Fatalf("%s: %s", method, got.Error.Message)
				}
				if result != nil {
					b.check(json.Unmarshal(got.Result, result))
				}
				return
			}
		}
	}
}

// note keeps what scripts complain of.
func (b *Browser) note(m *message) {
	var p struct{ Type string }
	_ = json.Unmarshal(m.Params, &p)
	if m.Method == "Runtime.exceptionThrown" || m.Method == "Runtime.consoleAPICalled" && p.Type == "error" {
		b.Errors = append(b.Errors, string(m.Params))
	}
}

// Emulate shows the page on a medium, screen or print, to a reader who prefers a scheme of colours, light or dark.
func (b *Browser) Emulate(medium, scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": medium,
		"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Evaluate returns the value of an expression of the page, which may be a promise.
func (b *Browser) Evaluate(expression string) any {
	b.t.Helper()
	value, thrown := b.evaluate(expression)
	if thrown != "" {
		b.t.Fatalf("%s: %s", expression, thrown)
	}
	return value
}

func (b *Browser) evaluate(expression string) (value any, thrown string) {
	b.t.Helper()
	var x struct {
		Result           struct{ Value any }
		ExceptionDetails *json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &x)
	if x.ExceptionDetails != nil {
		return nil, string(*x.ExceptionDetails)
	}
	return x.Result.Value, ""
}

// Wait waits until an expression of the page is true, and returns how long that took. A page that is not there yet
// may throw.
func (b *Browser) Wait(expression string) time.Duration {
	b.t.Helper()
	began := time.Now()
	for {
		if value, _ := b.evaluate(expression); value == true {
			return time.Since(began)
		}
		if time.Since(began) > patience {
			b.t.Fatalf("never true: %s\n%v\n%v", expression, b.Evaluate("document.body.innerText"), b.Errors)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Click presses the mouse in the middle of the element of a selector.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	text := b.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect(); return JSON.stringify({ x: r.x + r.width / 2, y: r.y + r.height / 2 }); })()`, selector))
	b.check(json.Unmarshal([]byte(text.(string)), &at))
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left",
			"clickCount": 1}, nil)
	}
}

// keys are those of a keyboard that have codes of their own.
var keys = map[string]int{"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}

// Press presses a key.
func (b *Browser) Press(key string) {
	b.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": keys[key]}
	if key == "Enter" {
		down["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", down, nil)
	down["type"] = "keyUp"
	delete(down, "text")
	b.call("Input.dispatchKeyEvent", down, nil)
}

// Screenshot returns what the window shows. Where DECODESIM_SCREENSHOTS names a directory, it is kept there.
func (b *Browser) Screenshot(name string) image.Image {
	b.t.Helper()
	var x struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &x)
	text, err := base64.StdEncoding.DecodeString(x.Data)
	b.check(err)
	if dir := os.Getenv("DECODESIM_SCREENSHOTS"); dir != "" {
		b.check(os.WriteFile(filepath.Join(dir, name+".png"), text, 0o600))
	}
	picture, err := png.Decode(bytes.NewReader(text))
	b.check(err)
	return picture
}

// Said is what a screen reader has of an element: what it is, what it is called, and its value.
type Said struct{ Role, Name, Value string }

// Heard returns what a screen reader has of the page, in its order, without what it leaves out.
func (b *Browser) Heard() []Said {
	b.t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored           bool
			Role, Name, Value struct{ Value any }
		}
	}
	b.call("Accessibility.getFullAXTree", nil, &tree)
	var all []Said
	text := func(x any) string {
		if x == nil {
			return ""
		}
		return fmt.Sprint(x)
	}
	for _, n := range tree.Nodes {
		if !n.Ignored {
			all = append(all, Said{text(n.Role.Value), text(n.Name.Value), text(n.Value.Value)})
		}
	}
	return all
}
