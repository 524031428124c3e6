"""What the scripts beside it time with."""

import statistics

import torch

MEASUREMENTS, MEASUREMENT_MS = 5, 20


def capture(run, pool=None):
    """A CUDA graph of run, which takes its memory from the pool of another graph if there is one."""
    side = torch.cuda.Stream()  # compiling and choosing kernels must not be captured
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
        run()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        run()
    return graph


def microseconds(run, times=1):
    """The median, least and longest time of one of so many alike operations that run does, in a CUDA graph."""
    graph = capture(run)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def ms(repeats):
        begin.record()
        for _ in range(repeats):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end)

    ms(1)
    repeats = max(1, int(MEASUREMENT_MS / ms(1)))
    took = [ms(repeats) * 1e3 / repeats / times for _ in range(MEASUREMENTS)]
    return statistics.median(took), min(took), max(took)
