"""Data-parallel ranks on the real vLLM scheduler: one each, in lock step, as DPEngineCoreProc.run_busy_loop steps them."""
import vllm_side


def run(c):
    """Runs a case, on ranks if it has several."""
    return Ranks(c).run() if c.get("ranks", 1) > 1 else vllm_side.Run(c).run()


class Ranks:
    """A case on ranks, which are given requests in turn. All compose; then a step lasts as long as that of the slowest, and
    one with nothing to compute takes part in it with an empty batch (execute_dummy_batch)."""

    def __init__(self, c):
        order = sorted(c["requests"], key=lambda r: (r["arrival"], r["id"]))
        self.ranks = [vllm_side.Run(dict(c, requests=order[i :: c["ranks"]])) for i in range(c["ranks"])]
        self.depth, self.t, self.idle, self.connector = 2 if c["async"] else 1, 0, False, None

    @property
    def steps(self):
        """Of the first rank, then of the next."""
        return [s for r in self.ranks for s in r.steps]

    @property
    def times(self):
        return {k: v for r in self.ranks for k, v in r.times.items()}

    def unfinished(self):
        return any(r.s.has_unfinished_requests() for r in self.ranks)

    def compose(self, free):
        """Lets all ranks compose a step that starts at free or later: what each composed, and when it ends."""
        outputs = [r.schedule() if r.s.has_unfinished_requests() else None for r in self.ranks]
        ran = [(r, so) for r, so in zip(self.ranks, outputs) if so and so.total_num_scheduled_tokens > 0]
        start = max(free, self.t)
        for r, _ in ran:
            r.steps[-1]["start"] = start
        return outputs, start + max((r.duration(so) for r, so in ran), default=0), bool(ran)

    def stuck(self, outputs):
        """Reports whether all ranks compose nothing for ever."""
        busy = [r for r, so in zip(self.ranks, outputs) if so]
        return not any(so._preempts for so in outputs if so) and all([r.stuck() for r in busy])

    def run(self):
        queue, gpu = [], 0
        while True:
            for r in self.ranks:
                r.t = self.t
                r.admit()
            if self.unfinished():
                outputs, end, ran = self.compose(gpu)
                gpu = end if ran else gpu
                if not ran and not any(x[2] for x in queue) and self.stuck(outputs):
                    self.idle = True
                    return self
                queue.append((outputs, end, ran))
                if len(queue) < self.depth and (ran or self.unfinished()):
                    continue
            elif not queue:
                nexts = [r.todo[0]["arrival"] for r in self.ranks if r.todo]
                if not nexts:
                    return self
                self.t = max(self.t, min(nexts))
                continue
            outputs, end, _ = queue.pop(0)
            self.t = max(self.t, end)
            for r, so in zip(self.ranks, outputs):
                if so:
                    r.t = self.t
                    r.update(so)
