"""vllm bench serve, of the source of a release: VLLM_SOURCE names its directory.

The client itself needs neither torch nor kernels, but the package around it does. So the packages on the way to it are
entered without what they import, what only images, audio, adapters and other ways to load a tokenizer need is left
empty, and the tokenizer comes from transformers, as vLLM's own loader has it.
"""

import argparse
import importlib.abc
import importlib.machinery
import os
import sys
import types
from pathlib import Path

SOURCE = Path(os.environ["VLLM_SOURCE"])
ENTERED = ("vllm", "vllm.utils")
EMPTY = ("torch", "vllm.inputs", "vllm.lora", "vllm.multimodal", "vllm.transformers_utils", "vllm.tokenizers",
         "vllm.utils.mistral", "vllm.utils.torch_utils", "vllm.platforms")


class Empty(types.ModuleType):
    """A module in which every name is a class without anything."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in ENTERED or any(name == e or name.startswith(e + ".") for e in EMPTY):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        if spec.name not in ENTERED:
            return Empty(spec.name)
        module = types.ModuleType(spec.name)
        spec.submodule_search_locations.append(str(SOURCE.joinpath(*spec.name.split("."))))
        return module

    def exec_module(self, module):
        pass


def tokenizer(name, **_):
    from transformers import AutoTokenizer
    return AutoTokenizer.from_pretrained(name)


sys.meta_path.insert(0, Finder())
import vllm.tokenizers  # noqa: E402

vllm.tokenizers.get_tokenizer = tokenizer
from vllm.benchmarks.serve import add_cli_args, main  # noqa: E402

parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
