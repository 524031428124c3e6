"""What a run left in a directory, and how near numbers have to be."""

import csv
import json
import math
import os
import re

QUANTILES = {"p50": .5, "p90": .9, "p95": .95, "p99": .99, "p999": .999}
BIN = 0.00101  # quantiles come from a histogram, whose bins are 0.2 % wide
NS = 1e-9
TOKENS = dict(output_tokens="output", prompt_tokens="prompt", cached_tokens="prompt_cached")


class Wrong(Exception):
    pass


def require(ok, what):
    if not ok:
        raise Wrong(what)


def near(got, want, what, relative=1e-9, absolute=2e-12):
    require(abs(got - want) <= relative * abs(want) + absolute, f"{what}: the summary has {got}, recomputed {want}")


class Run:
    """What a run left in a directory."""

    def __init__(self, scenario, path):
        self.scenario, self.work, self.path = scenario, scenario["workload"], path
        with open(os.path.join(path, "summary.json")) as f:
            self.summary = json.load(f)
        self.rows = []
        if self.summary["requests"]["arrived"]:  # a run without requests leaves no rows
            with open(os.path.join(path, "requests.csv")) as f:
                self.rows = [self.row(r) for r in csv.DictReader(f)]
        self.tasks = [self.row(r) for r in self.table("tasks.csv")]
        with open(os.path.join(path, "vllm_bench.json")) as f:
            self.bench = json.load(f)
        with open(os.path.join(path, "scenario.yaml")) as f:  # which may have a warm-up that the scenario did not
            warmup = re.search(r"^ +warmup_s: ([0-9.e+-]+)", f.read(), re.M)
        self.warmup = float(warmup[1]) if warmup else 0
        self.measured = [r for r in self.rows if r["arrival_s"] >= self.warmup]

    @staticmethod
    def row(r):
        texts = ("pool", "outcome", "route", "class")
        return {k: v if k in texts else float(v) if v != "" else None for k, v in r.items()}

    def table(self, name):
        """The rows of a file that the run may have left."""
        if not os.path.exists(os.path.join(self.path, name)):
            return []
        with open(os.path.join(self.path, name)) as f:
            return list(csv.DictReader(f))

    def plain(self):
        """No chunks and no jitter: a client's times are those of the rows."""
        return "stream" not in self.scenario

    def whole(self):
        return self.summary["requests"]["unfinished"] == 0

    def failing(self):
        return any(self.scenario.get(key) for key in ("failures", "random_failures", "drain", "role_switch"))

    def gaps_known(self):
        """The gaps of all requests are those of the answers that rows are of."""
        q, choices = self.summary["requests"], self.scenario.get("decoding", {})
        return (self.bench["decodesim"]["sampled_every"] == 1 and self.plain() and not self.warmup and
                q["completed"] == q["arrived"] and choices.get("n", 1) == 1 and "beam_width" not in choices)

    def measured_itls(self):
        return self.bench["itls"] if self.gaps_known() else None


def quantiles(q, values, what, tally):
    require(q["n"] == len(values), f"{what}: n is {q['n']}, recomputed {len(values)}")
    if not values:
        return
    values = sorted(values)
    if "mean" in q:
        near(q["mean"], math.fsum(values) / len(values), what + " mean")
        near(q["max"], values[-1], what + " max", 1e-12)
    for key, share in QUANTILES.items():
        if key in q:
            near(q[key], values[max(1, math.ceil(share * len(values))) - 1], f"{what} {key}", BIN, 1.1 * NS)
            tally["quantiles"] += 1
