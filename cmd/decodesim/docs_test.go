package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim/rng"
)

// TestDocumentationShowsRealOutput runs every command that a ```console block of the documentation has after "$ " and
// compares what it prints. A line "…" stands for lines left out; what cat prints is a file that later commands of the
// block find; make targets and the like are not run. -update writes what the commands print. Pages whose commands
// search or repeat for long are left to make published, and by make test those, too, that take seconds.
func TestDocumentationShowsRealOutput(t *testing.T) {
	t.Setenv(asProgram, version) // workers that a command starts
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	printed := map[string]string{}
	require.Greater(t, len(pages), 10, "the documentation has few pages")
	long, all := []string{"sizing.md", "sensitivity.md", "validate.md", "cluster.md"}, soak.Asked() || *update
	if soak.Brief() {
		long = append(long, "workloads.md", "fleets.md", "reading-results.md", "sweeps.md", "kv-tiers.md", "slo.md",
			"multi-lora.md", "README.md")
	}
	unasked(t)
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		if slices.Contains(long, filepath.Base(page)) && !all {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			parts := strings.Split(string(text), "```")
			for i, part := range parts {
				if body, ok := strings.CutPrefix(part, "console\n"); ok {
					parts[i] = "console\n" + rerun(t, filepath.Base(page), body, printed)
				}
			}
			if updated := strings.Join(parts, "```"); *update && updated != string(text) {
				require.NoError(t, os.WriteFile(page, []byte(updated), 0o644))
			}
		})
	}
}

// unasked takes the variable that asks for long tests out of the environment: to a command it would be an unknown key.
func unasked(t *testing.T) {
	t.Helper()
	t.Setenv("DECODESIM_SOAK", "") // which has it set again afterwards
	require.NoError(t, os.Unsetenv("DECODESIM_SOAK"))
}

// TestFigureOfTheReadme: the figure is the one that its command draws.
func TestFigureOfTheReadme(t *testing.T) {
	soak.TakesLong(t)
	figure := filepath.Join(root, "docs", "itl_cdf.svg")
	t.Chdir(t.TempDir())
	outputOf(t, []string{"run", "chat-70b", "--out", "out"})
	drawn, err := os.ReadFile(filepath.Join("out", "itl_cdf.svg"))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(figure, drawn, 0o644))
	}
	documented, err := os.ReadFile(figure)
	require.NoError(t, err)
	require.True(t, bytes.Equal(drawn, documented), "docs/itl_cdf.svg is not what decodesim run chat-70b draws; %s",
		updateWith)
}

// TestTheReadmeSaysTheAccuracy: what it says of errors is what the page on accuracy says.
func TestTheReadmeSaysTheAccuracy(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	page, readme := read(filepath.Join("docs", "accuracy.md")), read("README.md")
	const from, to = "<!-- from docs/accuracy.md -->\n", "<!-- end -->"
	head, rest, found := strings.Cut(readme, from)
	_, tail, ended := strings.Cut(rest, to)
	require.True(t, found && ended, "README.md: no lines between %s and %s", from, to)
	want := head + from + headlines(t, page) + to + tail
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, "README.md"), []byte(want), 0o644))
		return
	}
	require.Equal(t, want, readme, updateWith)
}

// headlines are the first paragraph of the page.
func headlines(t *testing.T, page string) string {
	_, body, found := strings.Cut(page, "\n\n")
	require.True(t, found)
	claim, _, _ := strings.Cut(body, "\n\n")
	return claim + "\n"
}

// rerun runs the commands of a block and returns the block with their true outputs. What a command printed before, with
// the same files, is in printed.
func rerun(t *testing.T, page, block string, printed map[string]string) string {
	var out, files strings.Builder
	t.Chdir(t.TempDir())
	if strings.Contains(block, "conv.csv.gz") {
		writeInvented(t)
	}
	for _, section := range strings.Split("\n"+strings.TrimSuffix(block, "\n"), "\n$ ")[1:] {
		command, want, _ := strings.Cut(section, "\n")
		out.WriteString("$ " + command + "\n")
		args := words(command)
		if args[0] == "cat" {
			require.NoError(t, os.WriteFile(args[1], []byte(want+"\n"), 0o600))
			files.WriteString(section)
		}
		if filepath.Base(args[0]) == "decodesim" {
			key := command + files.String()
			got, ran := printed[key]
			if !ran {
				got = outputOf(t, args[1:])
				printed[key] = got
			}
			if *update {
				want = abridge(want, got)
			}
			require.True(t, matches(want, got), "%s: %s prints\n%s\ninstead of\n%s\n%s", page, command, got, want, updateWith)
		}
		if want != "" {
			out.WriteString(want + "\n")
		}
	}
	return out.String()
}

// words takes a command line apart; single quotes join words.
func words(command string) []string {
	all := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command, -1)
	for i := range all {
		all[i] = strings.Trim(all[i], "'")
	}
	return all
}

// writeInvented writes the trace that pages call conv.csv.gz: a thousand requests of a chat that never was, within four
// minutes, with rushes.
func writeInvented(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintln(z, "arrival_s,input_tokens,output_tokens")
	r := rng.Stream(1, "docs.invented")
	at := 0.0
	for i := range 1000 {
		rate := 3.3
		if i/250%2 == 1 {
			rate = 5 // a rush
		}
		at += r.ExpFloat64() / rate
		fmt.Fprintf(z, "%.3f,%d,%d\n", at, 1+int(900*math.Exp(0.8*r.NormFloat64()-0.32)),
			1+int(210*math.Exp(0.7*r.NormFloat64()-0.245)))
	}
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile("conv.csv.gz", b.Bytes(), 0o600))
}

const updateWith = "run go test ./cmd/decodesim -run 'Documentation|Readme' -update"

// root is the repository: tests run in the directory of their package, and change to others.
var root = func() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}()

// outputOf runs a command line.
func outputOf(t *testing.T, args []string) string {
	t.Setenv("DECODESIM_SHARED", "")
	var out, errOut bytes.Buffer
	status := execute(context.Background(), &out, &errOut, args)
	if args[0] != "import" { // which prints the scenario, and fails for what it does not know
		require.Equal(t, exitOK, status, "%v: %s", args, errOut.String())
	}
	return strings.TrimRight(out.String()+errOut.String(), "\n")
}

const leftOut = "…"

// matches reports whether got is want, in which a line "…" stands for any lines.
func matches(want, got string) bool {
	var pattern strings.Builder
	for line := range strings.SplitSeq(want, "\n") {
		if line == leftOut {
			pattern.WriteString(`(.*\n)*?`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line) + `\n`)
		}
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got + "\n")
}

// abridge is got without the lines that want leaves out: each piece of want becomes as many lines of got, which begin
// where most of them begin with the same word.
func abridge(want, got string) string {
	pieces := strings.Split("\n"+want+"\n", "\n"+leftOut+"\n")
	if len(pieces) == 1 {
		return got
	}
	lines, from := strings.Split(got, "\n"), 0
	var out []string
	for i, piece := range pieces {
		if i > 0 {
			out = append(out, leftOut)
		}
		piece = strings.Trim(piece, "\n")
		if piece == "" {
			continue
		}
		model := strings.Split(piece, "\n")
		switch i {
		case 0:
		case len(pieces) - 1:
			from = len(lines) - len(model)
		default:
			from = alignment(model, lines, from)
		}
		end := min(from+len(model), len(lines))
		out = append(out, lines[from:end]...)
		from = end
	}
	return strings.Join(out, "\n")
}

// alignment returns the first offset in lines, not before from, at which most of them begin with the first word of the
// model's.
func alignment(model, lines []string, from int) int {
	best, most := from, -1
	for at := from; at < len(lines); at++ {
		same := 0
		for i, line := range model {
			if at+i < len(lines) && firstWord(lines[at+i]) == firstWord(line) {
				same++
			}
		}
		if same > most {
			best, most = at, same
		}
	}
	return best
}

func firstWord(line string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return word
}

func TestAbridgedOutputIsUpdated(t *testing.T) {
	got := "head\n\nTTFT 2\nITL 3\nTPOT 4\nend 1\nend 2"
	want := "head\n…\nITL 1\nTPOT 9\n…\nend 7"
	require.False(t, matches(want, got))
	want = abridge(want, got)
	require.Equal(t, "head\n…\nITL 3\nTPOT 4\n…\nend 2", want)
	require.True(t, matches(want, got))
	require.False(t, matches("head\n…\nTPOT 4\nend 2", got))
	require.True(t, matches("…", got))
	require.False(t, matches("head", got))
}
