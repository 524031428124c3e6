"""Times matrix products as the layers of three models have them, on the GPU of this machine, with PyTorch.

    python3 products.py > products.csv && decodesim validate --data products.csv

prints one row a product of decodesim/measurements/v1, whose columns docs/validate.md explains. It takes a minute.
Each product runs in a CUDA graph over copies of its weights that the L2 cache cannot hold, as a step finds them; the
time is the median of five measurements of 20 ms.
"""

import sys

import torch

from timing import microseconds

MODELS = {  # hidden size, query heads, KV heads, head size, feed-forward width, GPUs of a layer
    "llama-3.1-8b": (4096, 32, 8, 128, 14336, (1, 2, 4, 8)),
    "llama-3.1-70b": (8192, 64, 8, 128, 28672, (2, 4, 8)),
    "qwen3-1.7b": (2048, 16, 8, 128, 6144, (1,)),
}
ROWS = (16, 64, 256, 1024, 8192)
SQUARES = (1024, 2048, 4096, 8192, 16384)
CATALOG = {"H100 80GB HBM3": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm", "A100-SXM4-80GB": "a100-sxm-80gb"}
COLD_BYTES = 300 * 2**20  # several times what an L2 cache holds


def operand(rows, columns, dtype):
    return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16).to(dtype)


def multiply(x, weights, one):
    if x.dtype == torch.bfloat16:
        return torch.mm(x, weights.t())
    return torch._scaled_mm(x, weights.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)


def product(m, n, k, dtype):
    """The median, least and longest time of a product of m rows with n columns of k."""
    copies = max(2, min(64, -(-COLD_BYTES // (n * k * dtype.itemsize))))
    weights = [operand(n, k, dtype) for _ in range(copies)]
    x = operand(m, k, dtype)
    one = torch.tensor(1.0, device="cuda")

    def all_copies():
        for w in weights:
            multiply(x, w, one)

    return microseconds(all_copies, copies)


def products():
    """What is timed: a name, and n and k."""
    for model, (hidden, query, kv, size, width, layouts) in MODELS.items():
        for tp in layouts:
            yield f"{model} tp{tp} qkv", (query + 2 * kv) * size // tp, hidden
            yield f"{model} tp{tp} o", hidden, query * size // tp
            yield f"{model} tp{tp} gate_up", 2 * width // tp, hidden
            yield f"{model} tp{tp} down", hidden, width // tp


def main():
    name = torch.cuda.get_device_name(0)
    gpu = next((key for part, key in CATALOG.items() if part in name), None)
    if gpu is None:
        sys.exit(f"{name} is not among the GPUs that this script names for decodesim: {', '.join(CATALOG)}")
    print("id,kind,gpu,gpus,engine,version,weights,metric,value,unit,per,rep_min,rep_max,notes")
    for label, dtype in ("bf16", torch.bfloat16), ("fp8", torch.float8_e4m3fn):
        shapes = [(what, m, n, k) for what, n, k in products() for m in ROWS]
        shapes += [("square", n, n, n) for n in SQUARES]
        shapes += [(what, 1, n, k) for what, n, k in products() if label == "bf16"]  # fp8 takes rows by 16
        for what, m, n, k in shapes:
            median, least, longest = product(m, n, k, dtype)
            print(f"{what} {label} {m},kernel,{gpu},1,cuBLASLt,torch {torch.__version__},{label},gemm_time,"
                  f"{median:.3f},us,gpu,{least:.3f},{longest:.3f},m={m} n={n} k={k}", flush=True)


main()
