#!/usr/bin/env bash
# setup.sh DIR: real clients from the registries, for live.py and sessions.py. GuideLLM and the gateway have their own
# environments; the client of vllm bench serve runs from the source of the release, with what it imports.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/bin" && cd "$1"
[ -x python/bin/aiperf ] || { python3 -m venv python && python/bin/pip install -q openai==3.54.0 aiperf==0.13.0 pybase64 \
	regex pandas cbor2 pillow; }
[ -x guidellm/bin/guidellm ] || { python3 -m venv guidellm && guidellm/bin/pip install -q guidellm==0.8.1; }
[ -x gateway/bin/python ] || { python3 -m venv gateway && gateway/bin/pip install -q sglang-router==0.3.2; }
[ -d node_modules/openai ] || npm install --silent --no-save openai@6.49.0
[ -x bin/hey ] || GOFLAGS='' GOBIN=$PWD/bin go install github.com/rakyll/hey@v0.1.5
(cd "$here/light" && go build -trimpath -o "$OLDPWD/bin/light" .)
(cd "$here/compiled" && go build -trimpath -o "$OLDPWD/bin/compiled" .)
cp "$here/streams.mjs" .
python/bin/python "$here/tokenizer.py" tokenizer
[ -d source/vllm-0.33.0 ] || "$here/../differential/setup.sh" "$PWD/source" 0.33.0
