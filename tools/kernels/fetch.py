"""Times prompts that are computed against prompts whose KV cache comes from host memory, on the GPU of this machine.

    python3 fetch.py > fetch.csv

has random weights in the shapes of Llama 3.1 8B and a paged cache in the layout of vLLM, keys and values of a layer
apart, in blocks of 16 tokens that lie in any order in pinned host memory. It prints a row a case: prompts computed
whole, in chunks as engines do; caches loaded in one copy a layer, block by block, and in chunks of 256 tokens; both
together, one after the other or layer by layer; plain copies by their size; and steps of decodes with copies beside
them. Products and prompts' attention are those of layers.py, all in CUDA graphs. No engine is about it: a time runs
from the first call to the token, by the clock of the host. A case that fails prints why as a comment. It takes a
minute and a half, and starts nothing after two.
"""

import ctypes
import statistics
import subprocess
import threading
import time
from contextlib import contextmanager

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel

from layers import MODELS, Shard, random
from timing import capture

HIDDEN, QUERY, KV, SIZE, WIDTH, _ = MODELS["llama-3.1-8b"]
LAYERS, VOCABULARY = 32, 128256
PROMPTS = (1024, 2048, 4096, 8192, 16384, 32768)
NEW, BATCH = 512, 8192  # tokens after what is fetched, and of a step at most
BLOCK, CHUNK = 16, 256  # tokens
CAPACITY = PROMPTS[-1] + BATCH  # tokens of the cache
ROW = KV * SIZE * 2  # bytes of the keys, or of the values, of a token in a layer
TOKEN = 2 * LAYERS * ROW
SEQUENCES, CONTEXT = 32, 1024  # of a decode step
DEADLINE_S = 110
BEGUN = time.perf_counter()


@torch.compile(dynamic=True)
def merge(a, a_log, b, b_log):
    """Attention to all keys from that to two parts of them, each with the logarithm of what it was divided by."""
    top = torch.maximum(a_log, b_log)
    x, y = (a_log - top).exp(), (b_log - top).exp()
    return ((a.float() * x + b.float() * y) / (x + y)).to(torch.bfloat16)


@triton.jit
def gather(to, source, order, half, WORDS: tl.constexpr, STEP: tl.constexpr):
    """Reads the blocks of a layer where host memory has them."""
    block, which, blocks = tl.program_id(0), tl.program_id(1), tl.num_programs(0)
    place = tl.load(order + block)
    for i in range(0, WORDS, STEP):
        at = i + tl.arange(0, STEP)
        x = tl.load(source + (which * blocks + place) * WORDS + at)
        tl.store(to + which * half + block * WORDS + at, x)


class Driver:
    """Copies of the CUDA driver, some of which PyTorch has no functions for."""

    def __init__(self):
        cuda = ctypes.CDLL("libcuda.so.1")
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.one = cuda.cuMemcpyAsync
        self.one.argtypes = pointer, pointer, size, pointer
        self.fail = ()
        if hasattr(cuda, "cuMemcpyBatchAsync_v2"):
            self.many = cuda.cuMemcpyBatchAsync_v2
        else:  # before CUDA 13 it says which copy failed
            self.many = cuda.cuMemcpyBatchAsync
            self.failed = size(0)
            self.fail = (ctypes.addressof(self.failed),)
        self.many.argtypes = (pointer,) * 3 + (size, pointer, pointer, size) + (pointer,) * (1 + len(self.fail))
        self.attributes = (ctypes.c_int32 * 32)(1)  # read in the stream's order, and no hints
        self.first = (size * 1)(0)

    def copy(self, to, source, size, stream):
        check(self.one(to, source, size, stream.cuda_stream))

    def batch(self, to, source, sizes, stream):
        check(self.many(to.data_ptr(), source.data_ptr(), sizes.data_ptr(), len(to), ctypes.addressof(self.attributes),
                        ctypes.addressof(self.first), 1, *self.fail, stream.cuda_stream))


def check(result):
    if result != 0:
        raise RuntimeError(f"the CUDA driver says {result}")


def attend_parts(q, k, v, keys, values):
    """Causal attention of new tokens by cuDNN: to themselves, and to all before them."""
    def part(k, v, causal):
        a, b, c = (y.transpose(0, 1)[None] for y in (q, k, v))
        o, log = torch.ops.aten._scaled_dot_product_cudnn_attention(a, b, c, None, True, 0.0, causal, False)[:2]
        return o[0].transpose(0, 1), log.reshape(QUERY, len(q)).t().unsqueeze(-1)

    own = part(k, v, True)
    return merge(*own, *part(keys, values, False)) if len(keys) else own[0]


def attend_whole(q, k, v, keys, values):
    """The same by FlashAttention 2, which is slower here."""
    a, b, c = (y.transpose(0, 1)[None] for y in (q, torch.cat((keys, k)), torch.cat((values, v))))
    return torch.ops.aten._scaled_dot_product_flash_attention(a, b, c, 0.0, True, False)[0][0].transpose(0, 1)


def attention():
    """The first of the two that does what it should."""
    q, k, v = random(256, QUERY, SIZE), random(768, KV, SIZE), random(768, KV, SIZE)
    many = [y.repeat_interleave(QUERY // KV, 1).float() for y in (k, v)]
    scores = torch.einsum("qhd,khd->hqk", q.float(), many[0]) / SIZE**0.5
    later = torch.ones(256, 768, device="cuda", dtype=torch.bool).triu(768 - 256 + 1)
    want = torch.einsum("hqk,khd->qhd", scores.masked_fill(later, -float("inf")).softmax(-1), many[1])
    for attend in attend_parts, attend_whole:
        try:
            off = (attend(q, k[512:], v[512:], k[:512], v[:512]).float() - want).abs().max().item()
            print(f"# {attend.__name__} is off by {off:.4f} at most")
            if off < 0.05:
                return attend
        except Exception as e:
            print(f"# {attend.__name__}: {comment(e)}")
    raise RuntimeError("no attention works")


class Model(Shard):
    """The whole model, its KV cache, and host memory that has as much as the longest prompt takes."""

    def __init__(self):
        self.hidden, self.query, self.kv, self.size = HIDDEN, QUERY, KV, SIZE
        shapes = ((QUERY + 2 * KV) * SIZE, HIDDEN), (HIDDEN, QUERY * SIZE), (2 * WIDTH, HIDDEN), (HIDDEN, WIDTH)
        self.weights = [[random(n, k) * 0.02 for n, k in shapes] for _ in range(LAYERS)]
        self.norm = torch.ones(HIDDEN, device="cuda")
        self.head = random(VOCABULARY, HIDDEN) * 0.02
        self.cache = torch.stack([random(2, CAPACITY, KV, SIZE) for _ in range(LAYERS)])
        self.host = torch.empty(PROMPTS[-1] * TOKEN, dtype=torch.uint8, pin_memory=True)
        self.host.copy_(self.cache.view(-1).view(torch.uint8)[:len(self.host)])
        self.rows = self.inputs(BATCH)  # what graphs read stays where it is
        self.attend = attention()

    def prompt_layer(self, layer, begin, x, residual, cos, sin):
        keys, values = self.cache[layer]

        def attend(q, k, v):
            keys[begin:begin + len(k)].copy_(k)
            values[begin:begin + len(v)].copy_(v)
            return self.attend(q, k, v, keys[:begin], values[:begin]).reshape(len(q), QUERY * SIZE)

        return self.layer(x, residual, self.weights[layer], cos, sin, attend)

    def token(self, x, residual):
        """The likeliest next token of each row."""
        return torch.mm(x + residual, self.head.t()).argmax(-1)

    def prompt(self, begin, end):
        """A graph of the steps that compute so many tokens of a prompt after those that the cache has."""
        def run():
            for at in range(begin, end, BATCH):
                x, residual, cos, sin = (y[:end - at] for y in self.rows)
                for layer in range(LAYERS):
                    x, residual = self.prompt_layer(layer, at, x, residual, cos, sin)
            self.token(x[-1:], residual[-1:])

        return capture(run)

    def prompt_layers(self, begin, tokens):
        """A graph of each layer of one such step, and what each passes to the next."""
        x, residual, cos, sin = (y[:tokens] for y in self.rows)
        outputs = [(x, residual)] * (LAYERS + 1)

        def run(layer):
            outputs[layer + 1] = self.prompt_layer(layer, begin, *outputs[layer], cos, sin)
            if layer == LAYERS - 1:
                self.token(*(y[-1:] for y in outputs[LAYERS]))

        side, graphs = torch.cuda.Stream(), [torch.cuda.CUDAGraph() for _ in range(LAYERS)]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for layer in range(LAYERS):
                run(layer)
            torch.cuda.synchronize()
            for layer, graph in enumerate(graphs):
                graph.capture_begin(*((graphs[0].pool(),) if layer > 0 else ()))
                run(layer)
                graph.capture_end()
        torch.cuda.synchronize()
        return graphs, outputs

    def decode(self):
        """A graph of a step of decodes."""
        x, residual, cos, sin = (y[:SEQUENCES] for y in self.rows)

        def run():
            a, b = x, residual
            for layer in range(LAYERS):
                keys, values = (y[:SEQUENCES * CONTEXT].view(SEQUENCES, CONTEXT, KV, SIZE).transpose(1, 2)
                                for y in self.cache[layer])

                def attend(q, k, v, keys=keys, values=values):
                    keys[:, :, :1].copy_(k.unsqueeze(2))
                    values[:, :, :1].copy_(v.unsqueeze(2))
                    q = q.reshape(SEQUENCES, KV, QUERY // KV, SIZE)
                    return F.scaled_dot_product_attention(q, keys, values).reshape(SEQUENCES, QUERY * SIZE)

                a, b = self.layer(a, b, self.weights[layer], cos, sin, attend)
            self.token(a, b)

        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return capture(run)


class Loads:
    """Ways to bring the cache of a prompt from host memory to the GPU, or back.

    Each is functions of a stream, one for each layer or one for all, and the number of copies of all together.
    """

    def __init__(self, model, driver, tokens, back=False):
        self.model, self.driver, self.tokens, self.back = model, driver, tokens, back
        self.gpu, self.host = model.cache.data_ptr(), model.host.data_ptr()
        self.blocks = tokens // BLOCK
        self.order = torch.randperm(self.blocks)

    def layers(self):
        return [self.batched(*self.addresses(layer, 1)) for layer in range(LAYERS)], 2 * LAYERS

    def blocks_batched(self):
        return [self.batched(*self.addresses(layer, self.blocks)) for layer in range(LAYERS)], 2 * LAYERS * self.blocks

    def blocks_called(self):
        return [self.called(*self.addresses(layer, self.blocks)) for layer in range(LAYERS)], 2 * LAYERS * self.blocks

    def wide_batched(self):
        return [self.batched(*self.wide())], self.blocks

    def wide_called(self):
        return [self.called(*self.wide())], self.blocks

    def kernel(self):
        """A kernel that reads host memory."""
        source = self.model.host.view(torch.int64)
        order, words, half = self.order.cuda(), BLOCK * ROW // 8, CAPACITY * ROW // 8

        def load(layer):
            to = self.model.cache[layer].view(-1).view(torch.int64)
            part = source[layer * 2 * self.blocks * words:]

            def run(stream):
                with torch.cuda.stream(stream):
                    gather[(self.blocks, 2)](to, part, order, half, WORDS=words, STEP=1024)
            return run
        return [load(layer) for layer in range(LAYERS)], 2 * LAYERS * self.blocks

    def chunks(self):
        """Chunks that have all layers together come to one of two buffers, and from there to blocks."""
        count, size = self.tokens // CHUNK, CHUNK * TOKEN
        paged = self.model.cache.view(LAYERS, 2, CAPACITY // BLOCK, BLOCK * KV * SIZE).view(torch.int64)
        buffers = [torch.empty(LAYERS, 2, CHUNK // BLOCK, BLOCK * ROW // 8, dtype=torch.int64, device="cuda")
                   for _ in range(2)]
        places = self.order.cuda().view(count, CHUNK // BLOCK)
        sources = torch.randperm(count).tolist()
        ready, free = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
        scatter = torch.cuda.Stream()

        def run(stream):
            for i, source in enumerate(sources):
                stream.wait_event(free[i % 2])
                self.driver.copy(buffers[i % 2].data_ptr(), self.host + source * size, size, stream)
                ready[i % 2].record(stream)
                scatter.wait_event(ready[i % 2])
                with torch.cuda.stream(scatter):
                    paged.index_copy_(2, places[i], buffers[i % 2])
                free[i % 2].record(scatter)
            stream.wait_stream(scatter)
        return [run], count

    def addresses(self, layer, parts):
        """Where the keys and values of a layer are, in so many parts each."""
        size = self.tokens * ROW // parts
        halves = 2 * layer + torch.arange(2).view(2, 1)
        order = self.order if parts > 1 else torch.zeros(1, dtype=torch.int64)
        gpu = self.gpu + halves * CAPACITY * ROW + torch.arange(parts) * size
        host = self.host + halves * self.tokens * ROW + order * size
        return gpu.view(-1), host.view(-1), size

    def wide(self):
        """Where blocks are that have all layers together."""
        size = BLOCK * TOKEN
        return self.gpu + torch.arange(self.blocks) * size, self.host + self.order * size, size

    def batched(self, gpu, host, size):
        to, source = (host, gpu) if self.back else (gpu, host)
        sizes = torch.full_like(to, size)
        return lambda stream: self.driver.batch(to, source, sizes, stream)

    def called(self, gpu, host, size):
        to, source = (host.tolist(), gpu.tolist()) if self.back else (gpu.tolist(), host.tolist())

        def run(stream):
            for a, b in zip(to, source):
                self.driver.copy(a, b, size, stream)
        return run


WAYS = Loads.layers, Loads.blocks_batched, Loads.blocks_called, Loads.wide_batched, Loads.wide_called, Loads.kernel, \
    Loads.chunks
BY_LAYER = Loads.layers, Loads.blocks_batched, Loads.kernel


def comment(e):
    return " ".join(f"{type(e).__name__}: {e}".split())[:300]


def clock(run, times=5):
    """The median, least and longest time in µs from a call of run to the end of all that it began, and how often."""
    took = []
    for _ in range(times + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        took.append((time.perf_counter() - begin) * 1e6)
    took = took[1:]
    return statistics.median(took), min(took), max(took), times


def row(kind, how, tokens, new, size, pieces, times):
    *us, n = times
    print(kind, how, tokens, new, size, pieces, *(f"{t:.2f}" for t in us), n, sep=",", flush=True)


@contextmanager
def case(*name):
    """Says why what is in it failed."""
    try:
        yield
    except Exception as e:
        print("#", *name, comment(e), flush=True)


def late(*name):
    if time.perf_counter() - BEGUN < DEADLINE_S:
        return False
    print("#", *name, "left out: too late", flush=True)
    return True


def plain(driver, model):
    """Copies by their size, alone and one after the other."""
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    gpu, host = model.cache.data_ptr(), model.host.data_ptr()
    for size in (2**k for k in range(12, 31, 2)):
        for how, to, source in ("to gpu", gpu, host), ("to host", host, gpu):
            with case("copy", how, size):
                row("copy", how, 0, 0, size, 1, clock(lambda: driver.copy(to, source, size, stream), 9))
                many = max(2, min(256, 2**30 // size))

                def run():
                    for _ in range(many):
                        driver.copy(to, source, size, stream)

                row("copy", how, 0, 0, size, many, clock(run))
    with case("copy both ways"):
        size = 2**28

        def both():
            for _ in range(8):
                driver.copy(gpu, host, size, stream)
                driver.copy(host + 2**30, gpu + 2**30, size, other)

        row("copy", "both ways", 0, 0, size, 8, clock(both))


def load(driver, model):
    """Caches that are brought to the GPU, and one that is brought back."""
    stream = torch.cuda.Stream()
    for tokens in PROMPTS:
        for way in WAYS:
            if late("load", way.__name__, tokens):
                continue
            with case("load", way.__name__, tokens):
                runs, pieces = way(Loads(model, driver, tokens))
                row("load", way.__name__, tokens, 0, tokens * TOKEN, pieces, clock(lambda: [r(stream) for r in runs]))
    tokens = 8192
    for way in Loads.layers, Loads.blocks_batched, Loads.wide_batched:
        with case("store", way.__name__, tokens):
            runs, pieces = way(Loads(model, driver, tokens, back=True))
            row("store", way.__name__, tokens, 0, tokens * TOKEN, pieces, clock(lambda: [r(stream) for r in runs]))


def fetch_first(driver, model, tokens):
    """New tokens after a prefix that is fetched before they begin."""
    stream, main = torch.cuda.Stream(), torch.cuda.current_stream()
    graph = model.prompt(tokens, tokens + NEW)
    row("suffix", "one graph", tokens, NEW, 0, 0, clock(graph.replay))
    for way in BY_LAYER + (Loads.wide_batched, Loads.chunks):
        with case("fetch", way.__name__, tokens):
            loads, pieces = way(Loads(model, driver, tokens))

            def run(loads=loads):
                for load in loads:
                    load(stream)
                main.wait_stream(stream)
                graph.replay()

            row("fetch", way.__name__, tokens, NEW, tokens * TOKEN, pieces, clock(run))


def fetch_layers(driver, model, tokens):
    """New tokens, each layer of which begins once that layer of the prefix is there."""
    stream, main = torch.cuda.Stream(), torch.cuda.current_stream()
    graphs, outputs = model.prompt_layers(tokens, NEW)
    row("suffix", f"{len(outputs) - 1} graphs", tokens, NEW, 0, 0, clock(lambda: [g.replay() for g in graphs]))
    events = [torch.cuda.Event() for _ in graphs]
    for way in BY_LAYER:
        with case("overlap", way.__name__, tokens):
            loads, pieces = way(Loads(model, driver, tokens))

            def run(loads=loads):
                for load, event, graph in zip(loads, events, graphs):
                    load(stream)
                    event.record(stream)
                    main.wait_event(event)
                    graph.replay()

            row("overlap", way.__name__, tokens, NEW, tokens * TOKEN, pieces, clock(run))


def fetch(driver, model):
    for tokens in PROMPTS:
        for way in fetch_first, fetch_layers:
            if late(way.__name__, tokens):
                continue
            with case(way.__name__, tokens):
                way(driver, model, tokens)
            torch.cuda.synchronize()
            torch.cuda.empty_cache()


def whole(model, kind, tokens, new):
    graph = model.prompt(0, tokens + new)
    row(kind, "one graph", tokens, new, 0, 0, clock(graph.replay, 3 if tokens > 8192 else 5))


def recompute(model):
    """Prompts that are computed whole."""
    for tokens in PROMPTS:
        for kind, new in ("prefill", 0), ("recompute", NEW):
            if late(kind, tokens):
                continue
            with case(kind, tokens):
                whole(model, kind, tokens, new)
            torch.cuda.empty_cache()


@contextmanager
def beside(load, stream, rate):
    """Repeats a load meanwhile, and adds to rate how many there were and the time they took."""
    stop, errors = threading.Event(), []

    def work():
        try:
            torch.zeros(1, device="cuda").add_(1)  # makes the GPU this thread's, too
            begin, times = time.perf_counter(), 0
            while not stop.is_set():
                load(stream)
                stream.synchronize()
                times += 1
            rate.extend((times, time.perf_counter() - begin))
        except Exception as e:
            errors.append(e)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if errors:
        raise errors[0]


def decode(driver, model):
    """Steps of decodes, alone and while copies go on."""
    stream, graph, tokens, steps = torch.cuda.Stream(), model.decode(), 4096, 10
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def step():
        took = []
        for _ in range(9):
            begin.record()
            for _ in range(steps):
                graph.replay()
            end.record()
            end.synchronize()  # and not the copies, too
            took.append(begin.elapsed_time(end) * 1e3 / steps)
        return statistics.median(took), min(took), max(took), len(took)

    step()
    row("decode", "alone", CONTEXT, SEQUENCES, 0, 0, step())
    for way, back in ((Loads.layers, False), (Loads.layers, True), (Loads.blocks_batched, False),
                      (Loads.blocks_batched, True), (Loads.wide_batched, False), (Loads.kernel, False),
                      (Loads.chunks, False)):
        how = ("store " if back else "load ") + way.__name__
        if late("decode beside", how):
            continue
        with case("decode beside", how):
            runs, pieces = way(Loads(model, driver, tokens, back))
            rate = []
            with beside(lambda s: [r(s) for r in runs], stream, rate):
                times = step()
            row("decode", "beside " + how, CONTEXT, SEQUENCES, 0, 0, times)
            us = rate[1] / rate[0] * 1e6
            row("load" if not back else "store", "beside decode " + way.__name__, tokens, 0, tokens * TOKEN, pieces,
                (us, us, us, rate[0]))
    row("decode", "alone again", CONTEXT, SEQUENCES, 0, 0, step())


def main():
    print(f"# {torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    with case("nvidia-smi"):
        asked = "driver_version,pcie.link.gen.current,pcie.link.width.current,clocks.max.sm,power.limit"
        print("#", subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], check=True,
                                  capture_output=True, text=True, timeout=20).stdout.strip())
    print("kind,how,tokens,new,bytes,pieces,us,us_min,us_max,n", flush=True)
    with torch.no_grad():
        driver, model = Driver(), Model()
        for part in (lambda: plain(driver, model), lambda: recompute(model), lambda: fetch(driver, model),
                     lambda: decode(driver, model), lambda: load(driver, model)):
            with case("part"):
                part()
            print(f"# {time.perf_counter() - BEGUN:.0f} s", flush=True)


main()
