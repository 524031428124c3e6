package explore

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page/pagetest"
)

// hand is a page that moves the controls of the explorer in a frame, and has what it saw as its title.
const hand = `<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">
<iframe src="/?rate=6" style="width:%dpx;height:900px;border:0"></iframe><script>
onload = async () => {
  const f = document.querySelector("iframe"), d = f.contentDocument, $ = (id) => d.getElementById(id), said = [];
  const wait = async (what) => { for (let i = 0; i < 150 && !what(); i++) await new Promise((r) => setTimeout(r, 50)); };
  const beyond = () => d.documentElement.scrollWidth - d.documentElement.clientWidth;
  await wait(() => /simulated/.test($("run-answer").textContent));
  said.push("began " + $("control-rate").getAttribute("aria-valuetext"), "plots " + d.querySelectorAll(".uplot canvas").length);
  const before = $("run-answer").textContent, slider = $("control-tp");
  slider.value = 1;
  slider.dispatchEvent(new f.contentWindow.Event("input", { bubbles: true }));
  await wait(() => $("run-answer").textContent !== before && /simulated/.test($("run-answer").textContent));
  said.push("then " + f.contentWindow.location.search, "yaml " + /tensor_parallel: 2/.test($("yaml").textContent), "beyond " + beyond());
  const model = $("control-model");
  model.value = "llama-3.1-405b";
  model.dispatchEvent(new f.contentWindow.Event("change", { bubbles: true }));
  await wait(() => $("error-tp").textContent !== "");
  said.push("error " + /does not fit/.test($("error-tp").textContent) + " " + $("control-tp").getAttribute("aria-invalid"), "beyond " + beyond());
  said.push("unlabelled " + [...d.querySelectorAll("input, select")].filter((e) => e.labels.length === 0).length);
  document.title = "seen " + said.join("|");
};
</script>`

// TestThePageInABrowser: the address is the state, a slider moves all plots, what is impossible is said at its control,
// and nothing is wider than a phone.
func TestThePageInABrowser(t *testing.T) {
	s := explored(t, "chat-8b")
	m := http.NewServeMux()
	m.HandleFunc("/hand", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, hand, pagetest.Phone) })
	m.Handle("/", s.Handler())
	server := httptest.NewServer(m)
	defer server.Close()
	dom, errors := pagetest.Visit(t, server.URL+"/hand")
	seen := regexp.MustCompile(`<title>seen (.*)</title>`).FindStringSubmatch(dom)
	require.NotNil(t, seen, "%s\n%s", dom, errors)
	assert.Equal(t, []string{"began 6 requests/s", "plots 4", "then ?rate=6&tp=2", "yaml true", "beyond 0",
		"error true true", "beyond 0", "unlabelled 0"}, strings.Split(html.UnescapeString(seen[1]), "|"))
	assert.Empty(t, errors)
}

// TestWhatAScreenReaderHears: each control has a name and a value, each plot says what it shows, and the answers are
// announced. What is heard of controls comes in the order in which the keyboard reaches them.
func TestWhatAScreenReaderHears(t *testing.T) {
	server := httptest.NewServer(explored(t, "chat-8b").Handler())
	defer server.Close()
	b := pagetest.Drive(t, server.URL+"/?rate=6&requests=300", 1280, 1000)
	b.Wait(simulated)
	var heard []string
	roles := map[string]int{}
	for _, s := range b.Heard() {
		roles[s.Role]++
		switch s.Role {
		case "slider", "combobox":
			assert.NotEmpty(t, s.Name)
			assert.NotEmpty(t, s.Value, s.Name)
			heard = append(heard, s.Name)
		case "image":
			assert.Regexp(t, `^(Roofline|Step by batch|ITL|Inter-token|TTFT|Time to first).* from .* to .*\.$`, s.Name)
		}
	}
	assert.Equal(t, 4, roles["image"])
	assert.Len(t, heard, len(controls())+1, "each control, and where to begin")
	assert.Equal(t, 1, roles["main"])
	for _, id := range []string{"answer", "run-answer", "copied"} {
		assert.Equal(t, "polite", b.Evaluate(`document.getElementById("`+id+`").getAttribute("aria-live")`))
	}
	assert.Equal(t, "off", b.Evaluate(`document.getElementById("value-rate").getAttribute("aria-live")`),
		"a slider says its value by itself")

	b.Evaluate(`document.body.focus()`)
	b.Press("Tab")
	assert.Equal(t, "To the results", b.Evaluate(`document.activeElement.textContent`))
	var reached []string
	for range len(heard) - 1 { // what is accepted of drafts cannot be moved while there are none
		b.Press("Tab")
		reached = append(reached, b.Evaluate(`document.activeElement.labels[0].innerText.split("\n")[0]`).(string))
	}
	assert.Equal(t, "Begin from", reached[0])
	at := slices.IndexFunc(heard, func(name string) bool { return strings.HasPrefix(name, "Accepted") })
	require.Positive(t, at)
	for i, name := range slices.Delete(heard, at, at+1) {
		assert.True(t, strings.HasPrefix(name, reached[i]), "%s is reached where %s is heard", reached[i], name)
	}
	assert.Empty(t, b.Errors)
}

// TestGoingBackTakesAControlBack: all that is done at one control is one entry of the history, and the page that came
// before is never left by it.
func TestGoingBackTakesAControlBack(t *testing.T) {
	server := httptest.NewServer(explored(t, "chat-8b").Handler())
	defer server.Close()
	b := pagetest.Drive(t, server.URL+"/?requests=200", 1280, 1000)
	b.Wait(simulated)
	for _, id := range []string{"control-rate", "control-tp"} {
		b.Evaluate(`document.getElementById("` + id + `").focus()`)
		for range 2 {
			b.Press("ArrowRight")
		}
	}
	at := func(query string) {
		t.Helper()
		b.Wait(`location.search === "` + query + `" && ` + simulated)
	}
	at("?requests=200&rate=20&tp=4")
	for _, step := range []struct{ way, query, said string }{
		{"back", "?requests=200&rate=20", "1 GPU"}, {"back", "?requests=200", "1 GPU"},
		{"forward", "?requests=200&rate=20", "1 GPU"}, {"forward", "?requests=200&rate=20&tp=4", "4 GPUs"},
	} {
		b.Evaluate(`history.` + step.way + `()`)
		b.Wait(`document.getElementById("control-tp").getAttribute("aria-valuetext") === "` + step.said + `"`)
		at(step.query)
	}
	assert.Empty(t, b.Errors)
}

// TestARunIsNotTrustedBlindly: what the engine warns of stands beside the numbers, and goes with them.
func TestARunIsNotTrustedBlindly(t *testing.T) {
	server := httptest.NewServer(explored(t, "chat-8b").Handler())
	defer server.Close()
	b := pagetest.Drive(t, server.URL+"/?rate=100", 1280, 1000)
	b.Wait(`document.getElementById("run-warnings").textContent.startsWith("the queue is still growing") && ` + simulated)
	b.Evaluate(`document.getElementById("control-rate").focus()`)
	b.Press("Home")
	b.Wait(`document.getElementById("run-warnings").textContent === "" && ` + simulated)
	assert.Empty(t, b.Errors)
}

// TestAServerThatHasEndedLeavesNoNumbers: what stands beside controls that were moved since would be of another state.
func TestAServerThatHasEndedLeavesNoNumbers(t *testing.T) {
	server := httptest.NewServer(explored(t, "chat-8b").Handler())
	defer server.Close()
	b := pagetest.Drive(t, server.URL+"/?requests=200", 1280, 1000)
	b.Wait(simulated)
	server.Close()
	b.Evaluate(`document.getElementById("control-rate").focus()`)
	b.Press("Home")
	b.Wait(`/decodesim explore has ended/.test(document.getElementById("answer").textContent)`)
	for _, id := range []string{"yaml", "step-facts", "run-facts", "felt"} {
		assert.Empty(t, b.Evaluate(`document.getElementById("`+id+`").textContent`), id)
	}
	assert.Zero(t, b.Evaluate(`[...document.querySelectorAll("#results figure")].filter((e) => !e.hidden).length`))
	b.Click("#copy")
	b.Wait(`document.getElementById("copied").textContent === "There is nothing to copy."`)
}
