#!/usr/bin/env bash
# setup.sh FOLDER RELEASE…: a virtual environment and the schedulers of releases of vLLM from the package index, without
# a wheel, torch or a GPU; `latest` is the newest release. Exits with 3 where the index cannot be reached.
set -euo pipefail
declare -A sums=(
	[0.33.0]=f4c33c2503d52bb411146afa9618a4f48bed68912f617e6803ac8d76e4c74112
	[0.22.1]=cd34902729f3767e3dfbb391956b2986bc638a54be9893e78bda9cc55669f15c
)
mkdir -p "$1" && cd "$1" && shift
# PIP_INDEX_URL, or the index that pip asks by default.
index=${PIP_INDEX_URL:-$(python3 -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')}
page=$(curl -fsS --max-time 60 "$index/vllm/") || { echo "the package index $index cannot be reached" >&2; exit 3; }
[ -x venv/bin/pip ] || python3 -m venv venv
venv/bin/pip install -q numpy msgspec pydantic cloudpickle regex typing_extensions cbor2 psutil pyzmq
for release in "$@"; do
	if [ "$release" = latest ]; then
		release=$(grep -oE 'vllm-[0-9]+\.[0-9]+\.[0-9]+\.tar\.gz' <<<"$page" | sed 's/vllm-\(.*\)\.tar\.gz/\1/' | sort -Vu | tail -1)
		rm -f latest && ln -s "vllm-$release" latest
	fi
	[ -d "vllm-$release" ] && continue
	url=$(grep -oE "https?://[^\"#]*/vllm-$release\.tar\.gz" <<<"$page" | head -1)
	curl -fsS "$url" -o "vllm-$release.tar.gz"
	if [ -n "${sums[$release]:-}" ]; then
		echo "${sums[$release]}  vllm-$release.tar.gz" | sha256sum --check --quiet
	fi
	tar xzf "vllm-$release.tar.gz" --wildcards "vllm-$release/vllm/*.py"
	rm "vllm-$release.tar.gz"
done
