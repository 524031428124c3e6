#!/bin/bash
# setup.sh DIRECTORY: SGLang's scheduler from its wheel on PyPI (39 MB, no torch), and a Python environment to run it in.
set -euo pipefail
version=0.5.23 python=cp311
wheel="sglang-$version-$python-$python-manylinux_2_34_x86_64.whl"
sum=00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937
mkdir -p "$1"
cd "$1"
if [ ! -d venv ]; then
  python3 -m venv venv
  venv/bin/pip install -q numpy msgspec pydantic orjson psutil pyzmq typing_extensions cloudpickle
fi
if [ ! -d "sglang-$version" ]; then
  venv/bin/pip download -q --no-deps --only-binary :all: --python-version 3.11 --platform manylinux_2_34_x86_64 \
    --implementation cp --abi "$python" "sglang==$version"
  echo "$sum  $wheel" | sha256sum -c --quiet
  venv/bin/python -m zipfile -e "$wheel" "sglang-$version.part"
  mv "sglang-$version.part" "sglang-$version"
fi
