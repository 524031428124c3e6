package vllmargs

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/internal/soak"
)

func wordsOf(t require.TestingT, text string, vars ...string) [][]string {
	v, err := newVariables(vars)
	require.NoError(t, err)
	l, err := split(text, v)
	require.NoError(t, err)
	return l.statements
}

func TestWordsAreThoseOfAShell(t *testing.T) {
	for text, want := range map[string][][]string{
		"a  b\tc":                            {{"a", "b", "c"}},
		"a 'b c' \"d e\"f ''":                {{"a", "b c", "d ef", ""}},
		`a "x\"y" 'p"q' r\ s`:                {{"a", `x"y`, `p"q`, "r s"}},
		"a \\\n  b":                          {{"a", "b"}},
		"a \\  \n  --b":                      {{"a", "--b"}},
		"a \\\r\n  --b":                      {{"a", "--b"}},
		"a\n  --b\n\n # c\n  -d\ne":          {{"a", "--b", "-d"}, {"e"}},
		"a # b\nc":                           {{"a"}, {"c"}},
		"a \\\n  # it's\n  --b":              {{"a", "--b"}},
		"a b#c":                              {{"a", "b#c"}},
		"a; b & c | d && e":                  {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}},
		"a --b 2>&1 > log.txt --c":           {{"a", "--b", "--c"}},
		"a &> log\nb":                        {{"a"}, {"b"}},
		"cat > f << EOF\nit's --x\nEOF\na b": {{"cat"}, {"a", "b"}},
		"a —tp-size 4 –tp 2":                 {{"a", "--tp-size", "4", "-tp", "2"}},
		"cat << 'EOF' > f\nx":                {{"cat"}},
		`a '{"b": [1, 2]}'`:                  {{"a", `{"b": [1, 2]}`}},
		"":                                   nil,
		" \n # only\n":                       nil,
	} {
		assert.Equal(t, want, wordsOf(t, text), "%q", text)
	}
}

func TestQuotedWordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~\n]{0,12}`), 1, 8).Draw(t, "words")
		var single, double []string
		for _, w := range words {
			single = append(single, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
			double = append(double, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(w)+`"`)
		}
		require.Equal(t, [][]string{words}, wordsOf(t, strings.Join(single, " ")))
		require.Equal(t, [][]string{words}, wordsOf(t, strings.Join(double, " \\\n")))
	})
}

func TestVariablesAreReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"CONC=4; a $CONC":                      "a 4",
		"export A=1 B=2\na $A ${B}x \"$A $B\"": "a 1 2x 1 2",
		"a ${N:-7} ${M-8}":                     "a 7 8",
		"A='-x 1'\na $A":                       "a -x 1",
		"ISL=1000\na $((ISL * 2 )) \"$(( $ISL+(24-4)/2 ))\"": "a 2000 1010",
		"a $X '$Y' $(nproc) ${Z[@]}":                         "a $X $Y $(nproc) ${Z[@]}",
		"B=$A\na $B $((A*2)) $((1/0))":                       "a $B $((A*2)) $((1/0))",
		"A=1 a $A":                                           "A=1 a 1",
		"docker run -e K=5 --env=L=6 img $K $L":              "docker run -e K=5 --env=L=6 img 5 6",
		"a --x Q=1\nb $Q":                                    "b $Q",
		"GIVEN=3; a $GIVEN":                                  "a 9",
	} {
		all := wordsOf(t, text, "GIVEN=9")
		assert.Equal(t, want, strings.Join(all[len(all)-1], " "), "%q", text)
	}
	_, err := newVariables([]string{"CONC"})
	require.EqualError(t, err, `--var "CONC": expected NAME=VALUE, such as CONC=64`)
}

func TestTheServerIsFound(t *testing.T) {
	for text, want := range map[string]struct {
		engine string
		args   []string
	}{
		"vllm serve m -x":                     {vllmV1, []string{"m", "-x"}},
		"VLLM_USE_V1=0 /opt/bin/vllm serve m": {vllmV0, []string{"m"}},
		"export VLLM_USE_V1=0\nvllm serve m":  {vllmV0, []string{"m"}},
		"VLLM_USE_V1=1 vllm serve m":          {vllmV1, []string{"m"}},
		"sudo docker run -e VLLM_USE_V1=0 -p 1:1 vllm/vllm-openai:v0.8.5 --model m": {vllmV0, []string{"--model", "m"}},
		"docker run x/vllm-openai-rocm@sha256:1 vllm serve m":                       {vllmV1, []string{"m"}},
		"python3 -m vllm.entrypoints.openai.api_server --model m":                   {vllmV1, []string{"--model", "m"}},
		"cd /x && nohup python -m sglang.launch_server --tp 8 > log 2>&1 &":         {sglang, []string{"--tp", "8"}},
		"sglang serve --tp 8":                                         {sglang, []string{"--tp", "8"}},
		"mpirun -n 1 trtllm-serve m --tp_size 8 | tee l":              {tensorRTLLM, []string{"m", "--tp_size", "8"}},
		"trtllm-serve serve m":                                        {tensorRTLLM, []string{"m"}},
		`docker run img bash -lc "pip install x; vllm serve m -tp 2"`: {vllmV1, []string{"m", "-tp", "2"}},
		"vllm serve m &\nvllm bench serve --model m":                  {vllmV1, []string{"m"}},

		"docker run --gpus all vllm/vllm-openai:v0.6.3 --model m": {vllmV0,
			[]string{"--model", "m"}},
		"docker run localhost:5000/vllm/vllm-openai:0.7.3-cu12@sha256:1 --model m": {vllmV0, []string{"--model", "m"}},
		"docker run vllm/vllm-openai:v0.8.0 --model m": {vllmV1,
			[]string{"--model", "m"}},
		"docker run vllm/vllm-openai:v0.10.2 --model m": {vllmV1,
			[]string{"--model", "m"}},
		"docker run vllm/vllm-openai:v1.0 --model m": {vllmV1,
			[]string{"--model", "m"}},
		"docker run vllm/vllm-openai:nightly --model m": {vllmV1,
			[]string{"--model", "m"}},
		"docker run -e VLLM_USE_V1=1 vllm/vllm-openai:v0.7.0 --model m": {vllmV1,
			[]string{"--model", "m"}},
		"T=v0.5.1; docker run vllm/vllm-openai:$T --model m": {vllmV0,
			[]string{"--model", "m"}},
		"docker run --entrypoint bash vllm/vllm-openai:v0.6.3 -c 'vllm serve m'":              {vllmV0, []string{"m"}},
		"docker run vllm/vllm-openai:v0.6.3 python3 -m vllm.entrypoints.openai.api_server -x": {vllmV0, []string{"-x"}},
	} {
		v, _ := newVariables(nil)
		l, err := split(text, v)
		require.NoError(t, err)
		servers, err := l.find("")
		require.NoError(t, err, text)
		require.Len(t, servers, 1, text)
		s := servers[0]
		assert.Equal(t, want.engine, s.engine, text)
		assert.Equal(t, want.args, s.args, text)
	}
}

// TestFragmentsAreRead: people paste what they see, which a shell would refuse.
func TestFragmentsAreRead(t *testing.T) {
	for _, text := range []string{
		"$ vllm serve m -tp 2",
		"(venv) user@host:~$ vllm serve m -tp 2",
		"(vllm) $ vllm serve m \\\n  -tp 2",
		"root@node:/work$ vllm serve m -tp 2",
		"if [ $TP = 2 ]; then\n  vllm serve m -tp 2",
		"else\n  vllm serve m -tp 2\nfi",
		"  vllm serve m -tp 2\n  ;;\nesac",
		"done\nvllm serve m -tp 2",
		"&& vllm serve m -tp 2",
		"vllm serve m -tp 2 &&",
		"vllm serve m -tp 2 (eager)",
		"function serve {\n  vllm serve m -tp 2",
		"cat << EOF > f\nx\nEOF\nvllm serve m \\  \n -tp 2",
	} {
		l, err := split(text, variables{value: map[string]string{}})
		require.NoError(t, err, text)
		servers, err := l.find("")
		require.NoError(t, err, text)
		require.Len(t, servers, 1, text)
		s := servers[0]
		assert.Equal(t, []string{"m", "-tp", "2"}, s.args, text)
	}
}

// TestVariablesDoNotFillMemory: each line doubles the one before it.
func TestVariablesDoNotFillMemory(t *testing.T) {
	text := "A0=aaaaaaaa\n"
	for i := range 40 {
		text += fmt.Sprintf("A%d=$A%d$A%d\n", i+1, i, i)
	}
	for _, ending := range []string{"vllm serve $A40", "cat > f <<EOF\n$A40\nEOF\nvllm serve x --config f"} {
		_, err := Read(text+ending, Options{GPU: "h100"})
		require.ErrorContains(t, err, "the values of variables make the text longer by more than 4194304 bytes, at $A")
	}
	quoted := "A=" + strings.Repeat("a", 1<<12) + "\n" + `vllm serve "` + strings.Repeat("$A", 1<<11) + `"`
	_, err := Read(quoted, Options{GPU: "h100"})
	require.ErrorContains(t, err, "bytes, at $A", "nor between quotes")
}

// TestALongTextIsReadInTheTimeOfItsLength: nothing is read again for each line, word or flag. Where it
// was, each text took minutes, or at least ten seconds.
func TestALongTextIsReadInTheTimeOfItsLength(t *testing.T) {
	soak.TakesLong(t)
	const serve = "vllm serve llama-3.1-8b "
	numbered := func(n int, format string) (text string) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	for name, text := range map[string]string{
		"assignments":   "export " + numbered(70_000, "A%d=1 ") + "\n" + serve,
		"comments":      strings.Repeat("x\n#\n", 200_000) + serve,
		"continued":     serve + "\n" + strings.Repeat("#\n", 500_000) + "-f",
		"unknown flags": serve + numbered(40_000, "--unknown-flag-%d 3 "),
		"parts":         serve + numbered(25_000, "--compilation-config.part%d 3 "),
		"documents":     numbered(40_000, "cat > f%d <<E\na: 1\nE\n") + serve,
		"servers":       strings.Repeat("vllm serve x\n", 80_000),
	} {
		began := time.Now()
		_, err := Read(text, Options{GPU: "h100", ReadFile: none})
		if name == "servers" {
			require.ErrorContains(t, err, "the text starts 80000 servers")
		} else {
			require.NoError(t, err, name)
		}
		assert.Less(t, time.Since(began), 8*time.Second, name)
	}
}
