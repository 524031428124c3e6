"""Times one layer of dense models, or the part of it that one of several GPUs has, on the GPU of this machine.

    python3 layers.py > layers.csv

prints a row a batch: what the layer is like, rows and context, and the time in µs. Products are cuBLAS's, attention is
PyTorch's (cuDNN for prompts, FlashAttention for decodes), all else is compiled; everything runs in a CUDA graph over
several layers, whose weights and caches the L2 cache cannot hold. Collectives are left out. It takes two minutes.
"""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from timing import microseconds

MODELS = {  # hidden size, query heads, KV heads, head size, feed-forward width, GPUs of a layer
    "llama-3.1-8b": (4096, 32, 8, 128, 14336, (1, 2, 4, 8)),
    "llama-3.1-70b": (8192, 64, 8, 128, 28672, (2, 4, 8)),
    "qwen3-1.7b": (2048, 16, 8, 128, 6144, (1,)),
    "qwen3-32b": (5120, 64, 8, 128, 25600, (2, 4)),
}
PROMPTS = (128, 256, 512, 1024, 2048, 4096, 8192)
DECODES, CONTEXTS = (1, 8, 32, 64, 128, 256, 512), (1024, 8192)
COLD_BYTES, CACHE_BYTES = 300 * 2**20, 45 * 10**9  # of all layers together: weights at least, caches at most

torch._dynamo.config.recompile_limit = 256


@torch.compile(dynamic=True)
def add_norm(x, residual, weight):
    residual = residual + x
    y = residual.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
    return (y * weight).to(torch.bfloat16), residual


@torch.compile(dynamic=True)
def silu_mul(x):
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


@torch.compile(dynamic=True)
def rotate(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(torch.bfloat16)


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


class Shard:
    """What one GPU has of a layer, several times over."""

    def __init__(self, hidden, query, kv, size, width):
        self.hidden, self.query, self.kv, self.size = hidden, query, kv, size
        shapes = ((query + 2 * kv) * size, hidden), (hidden, query * size), (2 * width, hidden), (hidden, width)
        self.count = max(2, min(16, -(-COLD_BYTES // sum(2 * n * k for n, k in shapes))))
        self.weights = [[random(n, k) * 0.02 for n, k in shapes] for _ in range(self.count)]
        self.norm = torch.ones(hidden, device="cuda")

    def inputs(self, rows):
        turn = torch.randn(2, rows, 1, self.size // 2, device="cuda")
        return random(rows, self.hidden), random(rows, self.hidden), turn[0], turn[1]

    def layer(self, x, residual, weights, cos, sin, attend):
        qkv, out, gate_up, down = weights
        y, residual = add_norm(x, residual, self.norm)
        heads = torch.mm(y, qkv.t()).view(len(x), self.query + 2 * self.kv, self.size)
        turned = rotate(heads[:, :self.query + self.kv], cos, sin)
        x = torch.mm(attend(turned[:, :self.query], turned[:, self.query:], heads[:, self.query + self.kv:]), out.t())
        y, residual = add_norm(x, residual, self.norm)
        return torch.mm(silu_mul(torch.mm(y, gate_up.t())), down.t()), residual

    def prompt(self, tokens):
        x, residual, cos, sin = self.inputs(tokens)

        def attend(q, k, v):
            q, k, v = (y.transpose(0, 1)[None] for y in (q, k, v))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return o[0].transpose(0, 1).reshape(tokens, self.query * self.size)

        def layers():
            a, b = x, residual
            for weights in self.weights:
                a, b = self.layer(a, b, weights, cos, sin, attend)

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return microseconds(layers, self.count)

    def decode(self, sequences, context):
        x, residual, cos, sin = self.inputs(sequences)
        caches = [[random(sequences, self.kv, context, self.size) for _ in range(2)] for _ in range(self.count)]

        def layers():
            a, b = x, residual
            for weights, (keys, values) in zip(self.weights, caches):
                def attend(q, k, v, keys=keys, values=values):
                    keys[:, :, :1].copy_(k.unsqueeze(2))
                    values[:, :, :1].copy_(v.unsqueeze(2))
                    q = q.reshape(sequences, self.kv, self.query // self.kv, self.size)  # a KV head's queries as rows
                    o = F.scaled_dot_product_attention(q, keys, values)
                    return o.reshape(sequences, self.query * self.size)

                a, b = self.layer(a, b, weights, cos, sin, attend)

        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return microseconds(layers, self.count)


def main():
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}", file=sys.stderr)
    print("kind,hidden,query_heads,kv_heads,head_size,width,rows,context,us,us_min,us_max")
    for hidden, query, kv, size, width, layouts in MODELS.values():
        for tp in layouts:
            shape = hidden, query // tp, kv // tp, size, width // tp
            shard = Shard(*shape)
            batches = [("prefill", n, n) for n in PROMPTS]
            batches += [("decode", n, context) for context in CONTEXTS for n in DECODES
                        if n * context * 4 * kv // tp * size * shard.count <= CACHE_BYTES]
            for kind, rows, context in batches:
                times = shard.prompt(rows) if kind == "prefill" else shard.decode(rows, context)
                print(kind, *shape, rows, context, *(f"{t:.2f}" for t in times), sep=",", flush=True)
            del shard
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
