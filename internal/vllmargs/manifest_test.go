package vllmargs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestContainersOfFilesAreReadAsCommands: a Compose file or a manifest is the scenario of what its container runs,
// beside others that serve nothing.
func TestContainersOfFilesAreReadAsCommands(t *testing.T) {
	const command = "docker run vllm/vllm-openai:v0.22.1 --model Qwen/Qwen3-32B --tensor-parallel-size 4 " +
		"--max-num-seqs 128"
	options := Options{GPU: "h100-sxm", Vars: []string{"SEQS=128"}}
	want, err := Read(command, options)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"a text over lines": `
services:
  proxy: {image: nginx, command: nginx -g "daemon off;"}
  vllm:
    image: vllm/vllm-openai:v0.22.1
    command: >
      --model Qwen/Qwen3-32B \
      --tensor-parallel-size 4
      --max-num-seqs $SEQS
    deploy: {resources: {reservations: {devices: [{count: 4, capabilities: [gpu]}]}}}
`,
		"lines kept": "services:\n  a:\n    image: vllm/vllm-openai:v0.22.1\n    command: |\n" +
			"      --model Qwen/Qwen3-32B\\\n      --tensor-parallel-size 4\n      --max-num-seqs 128\n",
		"a list, merged": `
x-server: &server
  image: vllm/vllm-openai:v0.22.1
services:
  vllm:
    <<: *server
    environment: ["TP=4", "HF_HOME=/models"]
    command: ["--model", "Qwen/Qwen3-32B", "--tensor-parallel-size", "${TP}", "--max-num-seqs", "${SEQS:-1}"]
`,
		"a manifest": `
apiVersion: v1
kind: Service
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - image: vllm/vllm-openai:v0.22.1
          command: [/bin/sh, -c]
          args: ["vllm serve --model Qwen/Qwen3-32B --tensor-parallel-size $TP --max-num-seqs 128"]
          env: [{name: TP, value: "4"}, {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}]
`,
	} {
		got, err := Read(text, options)
		require.NoError(t, err, name)
		assert.Equal(t, string(want.Text), string(got.Text), name)
	}
	for text, message := range map[string]string{
		"services:\n  web: {image: nginx}\n":            `"docker run nginx" starts no server that is known`,
		"services:\n  a:\n    image: x\n    image: y\n": `line 4: key "image" stands twice`,
		"apiVersion: v1\nspec: [{name: a, name: b}]\n":  `line 2: key "name" stands twice`,
		"services: {}\n": "the command line is empty",
		"apiVersion: v1\nkind: Pod\nspec: &a\n  again: *a\n":         "the command line is empty",
		"services:\n  a: {image: vllm/vllm-openai, command: null}\n": "names no model",
	} {
		_, err := Read(text, options)
		require.ErrorContains(t, err, message, text)
	}
	for _, text := range []string{"vllm serve Qwen/Qwen3-32B: services", strings.Repeat("services: ", 1<<18),
		"a: 1\na: 2\n"} {
		_, ok, err := manifest(text)
		assert.NoError(t, err)
		assert.False(t, ok)
	}
}
