#!/usr/bin/env bash
# setup.sh DIR: real clients from the registries, for live.py. GuideLLM has an environment of its own, with the
# libraries that the client of vllm bench serve imports; its source comes from the package index, without its kernels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/bin" && cd "$1"
[ -d python ] || { python3 -m venv python && python/bin/pip install -q openai==3.54.0 aiperf==0.13.0; }
[ -d guidellm ] || { python3 -m venv guidellm && guidellm/bin/pip install -q guidellm==0.8.1 aiohttp pandas pybase64 \
	psutil pyzmq requests openai openai-harmony msgspec cbor2; }
[ -d node_modules/openai ] || npm install --silent --no-save openai@6.49.0
[ -x bin/hey ] || GOFLAGS='' GOBIN=$PWD/bin go install github.com/rakyll/hey@v0.1.5
cp "$here/streams.mjs" .
python/bin/python "$here/tokenizer.py" tokenizer
if [ ! -d vllm ]; then
	guidellm/bin/pip download -q --no-deps --no-build-isolation --no-binary vllm -d . vllm==0.33.0 2>/dev/null || true
	mkdir -p vllm && tar -xzf vllm-*.tar.gz -C vllm --strip-components 1 || rmdir vllm
fi
