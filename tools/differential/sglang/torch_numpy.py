"""The few operations on integer tensors that SGLang's scheduler asks of torch, on numpy arrays."""
import contextlib
import types

import numpy as np


class Tensor(np.ndarray):
    """An array with torch's names for what the scheduler does with it."""

    def numel(self): return self.size
    def to(self, *a, **k): return self.copy() if k.get("copy") else self
    def clone(self): return self.copy().view(Tensor)
    def cpu(self): return self
    def numpy(self): return np.asarray(self)
    def int(self): return self.astype(np.int32).view(Tensor)
    def bool(self): return self.astype(np.bool_).view(Tensor)
    def unsqueeze(self, d): return np.expand_dims(self, d).view(Tensor)
    def pin_memory(self): return self
    def record_stream(self, s): pass
    def copy_(self, o): self[...] = o
    def clamp_(self, min=None, max=None): return np.clip(self, min, max, out=self)
    def __bool__(self): return bool(np.asarray(self)) if self.size == 1 else super().__bool__()

    @property
    def device(self): return device("cpu")


class device:
    def __init__(self, name="cpu", index=None):
        self.type = str(name).split(":")[0]
        self.index = index

    def __str__(self): return self.type
    def __eq__(self, o): return str(self) == str(o)
    def __hash__(self): return hash(self.type)


class dtype:
    def __init__(self, np_type, itemsize):
        self.np, self.itemsize = np_type, itemsize


TYPES = dict(int64=(np.int64, 8), int32=(np.int32, 4), int16=(np.int16, 2), int8=(np.int8, 1), uint8=(np.uint8, 1),
             uint64=(np.uint64, 8), bool=(np.bool_, 1), float32=(np.float32, 4), float16=(np.float16, 2),
             bfloat16=(np.float32, 2), float64=(np.float64, 8), long=(np.int64, 8), int=(np.int32, 4),
             float8_e4m3fn=(np.uint8, 1), float8_e5m2=(np.uint8, 1), float8_e4m3fnuz=(np.uint8, 1))


def of(t):
    return t.np if isinstance(t, dtype) else None


def tensor(x, dtype=None, **k): return np.array(x, dtype=of(dtype)).view(Tensor)
def size_of(n): return n[0] if len(n) == 1 and isinstance(n[0], (tuple, list)) else n
def empty(*n, dtype=None, **k): return np.zeros(size_of(n), dtype=of(dtype)).view(Tensor)
def arange(*a, dtype=None, **k): return np.arange(*a, dtype=of(dtype)).view(Tensor)
def cat(xs, dim=0, **k): return np.concatenate([np.asarray(x) for x in xs], axis=dim).view(Tensor)
def full_like(x, v): return np.full_like(x, v).view(Tensor)
def sum_of(x): return np.asarray(np.sum(x)).view(Tensor)
def full(n, v, dtype=None, **k): return np.full(size_of((n,)), v, dtype=of(dtype)).view(Tensor)
def stack(xs, dim=0): return np.stack(xs, axis=dim).view(Tensor)
def where(c, a, b): return np.where(c, a, b).view(Tensor)
def clamp(x, min=None, max=None): return np.clip(x, min, max).view(Tensor)
def cumsum(x, d): return np.cumsum(x, axis=d).view(Tensor)
def searchsorted(a, v, right=False): return np.searchsorted(a, v, side="right" if right else "left").view(Tensor)
def unique(x): return np.unique(x).view(Tensor)


def sort(x):
    return np.sort(x).view(Tensor), None


class iinfo:
    def __init__(self, t):
        i = np.iinfo(t.np)
        self.max, self.min = int(i.max), int(i.min)


class nothing(contextlib.ContextDecorator):
    """A decorator and context without effect, as no_grad is here."""

    def __init__(self, *a, **k): pass
    def __enter__(self): return self
    def __exit__(self, *a): return False


def no_decoration(f=None, *a, **k):
    return f if callable(f) else (lambda g: g)


def fill(module, make):
    """Puts all of this into module, which is to be torch."""
    module.__version__ = "2.11.0"
    module.Tensor, module.device, module.dtype = Tensor, device, dtype
    for name, (t, n) in TYPES.items():
        setattr(module, name, dtype(t, n))
    for f in (tensor, empty, arange, cat, full, full_like, stack, where, clamp, cumsum, searchsorted, unique, sort, iinfo):
        setattr(module, f.__name__, f)
    module.zeros = module.ones = empty
    module.zeros_like = np.zeros_like
    module.all, module.sum = np.all, sum_of
    module.no_grad = module.inference_mode = nothing
    module.compile = no_decoration
    module.autograd = types.SimpleNamespace(_profiler_enabled=lambda: False)
    module.from_numpy = lambda x: x.view(Tensor)
    module.inf = float("inf")
    module.is_tensor = lambda x: isinstance(x, Tensor)
    module.version = types.SimpleNamespace(hip=None, cuda="13.0")
    for name in ("cuda", "xpu"):
        x = make("torch." + name)
        x.is_available = staticmethod(lambda: False)
        setattr(module, name, x)
