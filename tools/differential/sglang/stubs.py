"""Imports SGLang's scheduler from its wheel without torch, CUDA or a model.

Scheduler, prefill adder, radix tree and allocators are plain Python that counts tokens; of torch they use small integer
tensors, which numpy does (torch_numpy.py). Every other package that is not installed becomes a stub that can be imported
and named, and whose use after seal() raises: a run is SGLang's own code or nothing.
"""
import importlib.abc
import importlib.machinery
import os
import sys
import types

sealed = False

# Modules of SGLang that the scheduler names but that a text-only run on one rank never enters.
HEAVY = (
    "sglang.kernels", "sglang.jit_kernel", "sglang.srt.layers", "sglang.srt.models", "sglang.srt.model_loader",
    "sglang.srt.distributed", "sglang.srt.multimodal", "sglang.srt.lora", "sglang.srt.constrained", "sglang.srt.parser",
    "sglang.srt.function_call", "sglang.srt.entrypoints", "sglang.srt.hardware_backend", "sglang.srt.tokenizer",
    "sglang.srt.model_executor.model_runner", "sglang.srt.model_executor.cuda_graph_runner", "sglang.srt.eplb",
    "sglang.srt.speculative.eagle", "sglang.srt.configs", "sglang.srt.connector", "sglang.srt.utils.hf_transformers",
    "sglang.srt.server_args", "sglang.srt.state_capturer", "sglang.srt.weight_sync", "sglang.srt.managers.io_struct",
    "sglang.srt.utils.hf_transformers_utils", "sglang.srt.disaggregation.encoder",
)


ABSENT = ("npu", "hpu", "musa", "mlu", "mps")  # devices by whose modules SGLang recognises them


class Meta(type):
    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return make(f"{cls.__qualname__}.{name}")

    def __call__(cls, *args, **kwargs):
        if not cls.__dict__.get("_stub"):
            return super().__call__(*args, **kwargs)
        if sealed:
            raise RuntimeError(f"stub {cls.__qualname__} is called: the run left the part of SGLang that is real")
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]  # a decorator
        return make(cls.__qualname__ + "()")

    def __or__(cls, other): return object
    def __ror__(cls, other): return object
    def __getitem__(cls, key): return cls
    def __iter__(cls): return iter(())
    def __contains__(cls, x): return False
    def __enter__(cls): return cls
    def __exit__(cls, *a): return False
    def __mro_entries__(cls, bases): return (cls,)
    def __bool__(cls): return False
    def __lt__(cls, o): return False
    def __gt__(cls, o): return True
    def __le__(cls, o): return False
    def __ge__(cls, o): return True
    def __hash__(cls): return id(cls)


def stay(cls, *other):
    """What arithmetic with a stub gives, which happens in constants of modules: a stub."""
    return cls


for operator in ("neg", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "pow"):
    setattr(Meta, f"__{operator}__", stay)


def make(name):
    return Meta(name, (), {"_stub": True, "__qualname__": name})


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__") or name in ABSENT:
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full in sys.modules:
            return sys.modules[full]
        x = make(full)
        setattr(self, name, x)
        return x


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes modules of the given packages, and those named heavy, stubs."""

    def __init__(self, tops):
        self.tops = tops

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.tops or any(name == h or name.startswith(h + ".") for h in HEAVY):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        m = Module(spec.name)
        m.__path__ = []
        return m

    def exec_module(self, module):
        if module.__name__ == "torch":
            import torch_numpy
            torch_numpy.fill(module, make)
        if module.__name__ == "torch.utils._contextlib":
            import torch_numpy
            module._DecoratorContextManager = module._NoParamDecoratorContextManager = torch_numpy.nothing


class Last(importlib.abc.MetaPathFinder):
    """After everything else: what is not installed is a stub."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top == "sglang" or top in sys.stdlib_module_names or top.startswith("_") or path is not None:
            return None
        self.finder.tops.add(top)
        return importlib.machinery.ModuleSpec(name, self.finder, is_package=True)


def install(source):
    """Makes `import sglang` find the tree at source, without what its __init__ pulls in."""
    os.environ.setdefault("SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND", "python")
    sys.path.insert(0, source)
    f = Finder({"torch", "triton", "transformers"})
    sys.meta_path.insert(0, f)
    sys.meta_path.append(Last(f))
    pkg = types.ModuleType("sglang")
    pkg.__path__ = [os.path.join(source, "sglang")]
    pkg.__version__ = os.path.basename(source.rstrip("/")).removeprefix("sglang-")
    pkg.__spec__ = importlib.machinery.ModuleSpec("sglang", None, is_package=True)
    sys.modules["sglang"] = pkg


def seal():
    global sealed
    sealed = True
