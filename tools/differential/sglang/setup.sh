#!/usr/bin/env bash
# setup.sh FOLDER PYTHON: SGLang's scheduler from its wheel in the package index (39 MB, no torch), unpacked in FOLDER,
# and what it imports added to the virtual environment of PYTHON. Exits with 3 where the index cannot be reached.
set -euo pipefail
version=0.5.23 abi=cp311
wheel="sglang-$version-$abi-$abi-manylinux_2_34_x86_64.whl"
sum=00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937
python=$2
# PIP_INDEX_URL, or the index that pip asks by default.
index=${PIP_INDEX_URL:-$("$python" -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')}
mkdir -p "$1" && cd "$1"
[ -d "sglang-$version" ] && exit
page=$(curl -fsS --max-time 60 "$index/sglang/") || { echo "the package index $index cannot be reached" >&2; exit 3; }
"$python" -m pip install -q numpy msgspec pydantic orjson psutil pyzmq typing_extensions cloudpickle
url=$(grep -oE "https?://[^\"#]*/$wheel" <<<"$page" | head -1)
curl -fsS --max-time 300 "$url" -o "$wheel"
echo "$sum  $wheel" | sha256sum --check --quiet
"$python" -m zipfile -e "$wheel" "sglang-$version.part"
mv "sglang-$version.part" "sglang-$version"
rm "$wheel"
