"""Data-parallel ranks: a Scheduler each, in lock step, and SGLang's own controller, which gives them requests."""
import types

import sglang_side as side


def load():
    """Imports the controller of data-parallel ranks."""
    global controller
    from sglang.srt.managers import data_parallel_controller as controller


def by_rank(c):
    """The requests of each rank, as round_robin, the default, gives them."""
    ranks = [[] for _ in range(c["ranks"])]
    dispatcher = object.__new__(controller.DataParallelController)
    dispatcher.__dict__.update(_active_workers=list(range(c["ranks"])), round_robin_counter=0, status=[True] * c["ranks"],
                               workers=ranks)
    controller.sock_send = lambda worker, req: worker.append(req.request)
    for r in sorted(c["requests"], key=lambda r: (r["arrival"], r["id"])):
        dispatcher.round_robin_scheduler(types.SimpleNamespace(routed_dp_rank=None, request=r))
    return ranks


class Idle:
    """The batch of a rank that takes part in a step without one, as prepare_mlp_sync_batch_raw gives it."""
    forward_mode, reqs = types.SimpleNamespace(is_extend=lambda: False), ()


class Run:
    """A case on ranks: each step lasts as long as that of the slowest, and one without requests takes part in it."""

    def __init__(self, c):
        self.c, self.t = c, 0
        self.ranks = [side.Run(dict(c, requests=requests)) for requests in by_rank(c)]

    @property
    def steps(self):
        return [s for r in self.ranks for s in r.steps]

    @property
    def times(self):
        return {k: v for r in self.ranks for k, v in r.times.items()}

    def compose(self):
        """A batch of each rank, or None for all."""
        for r in self.ranks:
            r.t = self.t
            r.admit()
        batches = [r.plan() for r in self.ranks]
        if not any(batches):
            return None
        return [b or Idle for b in batches]

    def launch(self, batches):
        end = max(r.run_batch(b) for r, b in zip(self.ranks, batches) if b is not Idle)
        for r in self.ranks:
            r.gpu = end
        return end

    def process(self, batches):
        for r, b in zip(self.ranks, batches):
            r.t = self.t
            if b is not Idle:
                r.process(b)

    def ended(self):
        """Every rank is idle until the next request comes. Reports whether there is none."""
        idle = [r.idle() for r in self.ranks]
        self.t = max(self.t, min((r.t for r, done in zip(self.ranks, idle) if not done), default=0))
        return all(idle)

    def latest(self, batches):
        for r, b in zip(self.ranks, batches or [None] * len(self.ranks)):
            r.s.last_batch = b

    def run(self):
        last = None
        while True:
            batches = self.compose()
            if not self.c["overlap"]:
                if batches:
                    self.t = self.launch(batches)
                    self.process(batches)
                elif self.ended():
                    return self
                self.latest(batches)
                continue
            if batches:
                end = self.launch(batches)
                for r, b in zip(self.ranks, batches):
                    r.s.result_queue.append((b if b is Idle else b.copy(), end))
            if last:
                done = [r.s.result_queue.popleft() for r in self.ranks]
                self.t = max(self.t, done[0][1])
                self.process([b for b, _ in done])
            elif batches is None and self.ended():
                return self
            last = batches
            self.latest(batches)
