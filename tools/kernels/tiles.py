"""Times the attention of chunks of prompts, in one layer, on the GPU of this machine.

    python3 tiles.py > tiles.csv

prints a row a batch: so many chunks of so many tokens, each after a prefix, beside as many chunks of prompts that have
none (fresh) and decodes of one token each with their context; and the time in µs. The kernels are FlashAttention 2 as
PyTorch has it, without (flash) and with (flash-split) a division of the context over blocks, and cuDNN's (cudnn), whose
chunks after a prefix see each other's later tokens too (causal: 0); the last two are of chunks of one length. Keys and
values are several layers', which the L2 cache cannot hold. It takes a minute and a half; batches that a kernel refuses,
or that it has no time left for, are comments.
"""

import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import timing

SHAPES = {  # query heads, KV heads, head size of one GPU
    "llama-3.1-8b": (32, 8, 128),
    "llama-3.1-70b, of 8": (8, 1, 128),
    "qwen3-32b, of 4": (16, 2, 128),
    "qwen3.6-35b-a3b": (16, 2, 256),
}
TOKENS, PREFIXES = (128, 256, 512, 1024, 2048, 4096, 8192), (0, 4096, 16384, 65536, 122880)
CHUNKS, EACH = (2, 4, 8, 16), ((512, 0), (512, 8192), (2048, 0))
FRESH = ((512, 16384, 3), (512, 16384, 15), (512, 65536, 3), (512, 65536, 15), (2048, 65536, 3))
DECODES, CONTEXTS, BESIDE = (8, 64, 256), (1024, 8192), ((512, 0), (512, 8192), (2048, 8192))
SECONDS = {"flash": 40, "flash-split": 20, "cudnn": 30}
FLOPS_MAX, COLD_BYTES, CACHE_BYTES = 8e12, 300 * 2**20, 20 * 10**9  # of a batch; of all layers: at least, at most

timing.MEASUREMENTS, timing.MEASUREMENT_MS = 3, 8


class Batch:
    """Sequences of so many query tokens and so much context, these tokens included."""

    def __init__(self, chunks, tokens, prefix, fresh=0, decodes=0, context=0):
        self.columns = chunks, tokens, prefix, fresh, decodes, context
        self.queries = [tokens] * (chunks + fresh) + [1] * decodes
        self.contexts = [prefix + tokens] * chunks + [tokens] * fresh + [context] * decodes
        self.equal = fresh == decodes == 0

    def flops(self, heads, size):
        return sum(4 * heads * size * q * (c - (q - 1) / 2) for q, c in zip(self.queries, self.contexts))


def batches():
    for prefix in PREFIXES:
        for tokens in TOKENS:
            yield Batch(1, tokens, prefix)
    for tokens, prefix in EACH:
        for chunks in CHUNKS:
            yield Batch(chunks, tokens, prefix)
    for tokens, prefix, fresh in FRESH:
        yield Batch(1, tokens, prefix, fresh)
    for tokens, prefix in BESIDE:
        for context in CONTEXTS:
            for decodes in DECODES:
                yield Batch(1, tokens, prefix, 0, decodes, context)


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def starts(lengths):
    return torch.tensor([0] + lengths, device="cuda", dtype=torch.int32).cumsum(0, dtype=torch.int32)


def varlen(batch, query, kv, size, layers):
    q, longest_q, longest_k = random(sum(batch.queries), query, size), max(batch.queries), max(batch.contexts)
    caches = [[random(sum(batch.contexts), kv, size) for _ in range(2)] for _ in range(layers)]
    q_starts, k_starts = starts(batch.queries), starts(batch.contexts)

    def run():
        for k, v in caches:
            torch.ops.aten._flash_attention_forward(
                q, k, v, q_starts, k_starts, longest_q, longest_k, 0.0, True, False)

    return True, timing.microseconds(run, layers)


def equal(batch, query, kv, size, layers, kernel):
    sequences, tokens, context = len(batch.queries), batch.queries[0], batch.contexts[0]
    q = random(sequences, tokens, query, size)
    caches = [[random(sequences, context, kv, size) for _ in range(2)] for _ in range(layers)]
    causal = kernel == "flash-split" or tokens == context

    def run():
        for k, v in caches:
            if kernel == "flash-split":
                torch.ops.aten._flash_attention_forward(q, k, v, None, None, tokens, context, 0.0, causal, False)
            else:
                F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                               is_causal=causal, enable_gqa=True)

    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return causal, timing.microseconds(run, layers)


def row(kernel, batch, query, kv, size):
    read = sum(batch.contexts) * kv * size * 2 * 2
    layers = max(1, min(16, -(-COLD_BYTES // read)))
    if batch.flops(query, size) > FLOPS_MAX or read * layers > CACHE_BYTES:
        return
    line = (kernel, query, kv, size, *batch.columns)
    try:
        if kernel == "flash":
            causal, times = varlen(batch, query, kv, size, layers)
        else:
            causal, times = equal(batch, query, kv, size, layers, kernel)
        print(*line, int(causal), *(f"{t:.2f}" for t in times), sep=",", flush=True)
    except Exception as e:
        print("#", *line, repr(e).replace("\n", " ")[:200], flush=True)


def main():
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    print(f"{torch.cuda.get_device_name(0)}, {sms} SMs, PyTorch {torch.__version__}", file=sys.stderr)
    print("kernel,query_heads,kv_heads,head_size,chunks,tokens,prefix,fresh,decodes,context,causal,us,us_min,us_max")
    for kernel, seconds in SECONDS.items():
        end = time.monotonic() + seconds
        left = 0
        for batch in batches():  # of each batch all shapes, so that none is short of time alone
            if kernel != "flash" and not batch.equal:
                continue
            for shape in SHAPES.values():
                if time.monotonic() > end:
                    left += 1
                else:
                    row(kernel, batch, *shape)
        print(f"# {kernel}: {left} batches left out for want of time", flush=True)


main()
