"""Recomputes the summary of random scenarios from the rows of their requests and the gaps of their tokens.

    recompute.py PROGRAM [SCENARIOS [SEED]]

It shares no code with the program and knows of it what docs/ say. It fails if a number differs, if a scenario that was
written with the results gives other bytes, or if most of what it draws is refused.
"""

import collections
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

import scenarios

QUANTILES = {"p50": .5, "p90": .9, "p95": .95, "p99": .99, "p999": .999}
BIN = 0.00101  # quantiles come from a histogram, whose bins are 0.2 % wide
NS = 1e-9


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
        self.scenario, self.work = scenario, scenario["workload"]
        with open(os.path.join(path, "summary.json")) as f:
            self.summary = json.load(f)
        self.rows = []
        if self.summary["requests"]["arrived"]:  # a run without requests leaves no rows
            with open(os.path.join(path, "requests.csv")) as f:
                self.rows = [self.row(r) for r in csv.DictReader(f)]
        with open(os.path.join(path, "vllm_bench.json")) as f:
            self.bench = json.load(f)
        self.measured = [r for r in self.rows if r["arrival_s"] >= self.work.get("warmup_s", 0)]

    @staticmethod
    def row(r):
        texts = ("pool", "outcome", "route", "class")
        return {k: v if k in texts else float(v) if v != "" else None for k, v in r.items()}

    def plain(self):
        """No chunks and no jitter: a client's times are those of the rows."""
        return "stream" not in self.scenario

    def whole(self):
        return self.summary["requests"]["unfinished"] == 0


def check_counts(run, tally):
    q, count = run.summary["requests"], collections.Counter(r["outcome"] for r in run.rows)
    require(q["arrived"] == q["completed"] + q["rejected"] + q["failed"] + q["unfinished"], f"conservation: {q}")
    for outcome in ("completed", "rejected", "failed"):
        require(count[outcome] == q[outcome], f"{outcome}: {count[outcome]} rows, the summary has {q[outcome]}")
    require(len(run.rows) in (q["arrived"], q["arrived"] - q["unfinished"]), f"{len(run.rows)} rows of {q}")
    if run.whole():
        for column, key in (("output_tokens", "output"), ("prompt_tokens", "prompt"), ("cached_tokens", "prompt_cached")):
            near(run.summary["tokens"][key], sum(r[column] for r in run.rows), key)
            tally["totals"] += 1


def check_rows(run, tally):
    failing = run.scenario.get("failures") or run.scenario.get("random_failures")
    before = -1
    for r in run.rows:
        times = [r[k] for k in ("ttft_s", "tpot_s", "e2e_s", "queue_s") if r[k] is not None]
        require(all(t >= 0 for t in times), f"a time below 0: {r}")
        require(r["arrival_s"] >= before, f"out of order: {r}")
        before = r["arrival_s"]
        require(r["cached_tokens"] <= r["prompt_tokens"], f"more cached than asked: {r}")
        if None not in (r["ttft_s"], r["queue_s"]) and r["preemptions"] == 0 and not failing:
            require(r["queue_s"] <= r["ttft_s"] + 2e-12, f"queued beyond the first token: {r}")
        if r["outcome"] == "completed":
            require(r["output_tokens"] >= 1 and r["ttft_s"] <= r["e2e_s"] + 2e-12, f"no answer: {r}")
        if r["tpot_s"] is not None:
            n = r["output_tokens"] - 1
            require(abs(r["ttft_s"] + n * r["tpot_s"] - r["e2e_s"]) <= 1.1e-12 * (n + 2), f"TTFT, TPOT and E2E: {r}")
        tally["rows"] += 1


def check_quantiles(q, values, what, tally):
    require(q["n"] == len(values), f"{what}: n is {q['n']}, recomputed {len(values)}")
    if not values:
        return
    values = sorted(values)
    near(q["mean"], math.fsum(values) / len(values), what + " mean")
    near(q["max"], values[-1], what + " max", 1e-12)
    for key, share in QUANTILES.items():
        if key in q:
            near(q[key], values[max(1, math.ceil(share * len(values))) - 1], f"{what} {key}", BIN, 1.1 * NS)
            tally["quantiles"] += 1


def check_latencies(run, tally):
    """TTFT and the queue are those of every request with a first token; TPOT and E2E, of the completed."""
    if not run.plain() or not run.whole():
        return
    blocks = [("", run.summary["latency"], run.measured)]
    for c in run.summary.get("classes") or []:
        if "latency" in c:
            blocks.append((c["name"] + " ", c["latency"], [r for r in run.measured if r["class"] == c["name"]]))
    for name, latency, rows in blocks:
        for key in ("ttft_s", "tpot_s", "e2e_s", "queue_s"):
            of = rows if key in ("ttft_s", "queue_s") else [r for r in rows if r["outcome"] == "completed"]
            values = [r[key] for r in of if r[key] is not None and r["ttft_s"] is not None]
            if key in latency:
                check_quantiles(latency[key], values, name + key, tally)


def check_gaps(run, tally):
    """The gaps of a request's tokens sum to its answer, and all of them are the inter-token latencies."""
    q, bench = run.summary["requests"], run.bench
    choices = run.scenario.get("decoding", {})
    if (bench["decodesim"]["sampled_every"] != 1 or not run.plain() or run.work.get("warmup_s") or
            q["completed"] != q["arrived"] or choices.get("n", 1) > 1 or "beam_width" in choices):
        return
    chunks = "speculation" in run.scenario
    for n, gaps, ttft, r in zip(bench["output_lens"], bench["itls"], bench["ttfts"], run.rows):
        require(chunks or len(gaps) == n - 1, f"{len(gaps)} gaps of {n} tokens")
        require(abs(math.fsum(gaps) + ttft - r["e2e_s"]) <= 1e-12 * (len(gaps) + 2), f"gaps do not sum to E2E: {r}")
        tally["gaps"] += len(gaps)
    key = "itl_chunk_s" if chunks else "itl_s"
    check_quantiles(run.summary["latency"][key], [g for gaps in bench["itls"] for g in gaps], key, tally)


def check_rates(run, tally):
    s, q = run.summary, run.summary["requests"]
    if run.work.get("warmup_s") or not run.whole() or not s["duration_s"]:
        return
    near(s["throughput"]["requests_per_s"], q["completed"] / s["duration_s"], "requests/s")
    tally["rates"] += 1
    slo = s.get("slo")
    if slo and run.rows and run.plain() and run.scenario.get("slo") and not run.work.get("classes"):
        limits = run.scenario["slo"]
        kept = [r for r in run.rows if r["outcome"] == "completed" and 1e3 * r["ttft_s"] <= limits["ttft_ms"] and
                1e3 * (r["tpot_s"] or 0) <= limits["tpot_ms"]]
        near(slo["attainment"], len(kept) / len(run.rows), "attainment")
        near(slo["goodput_per_s"], len(kept) / s["duration_s"], "goodput")
        tally["attainments"] += 1


def check_parts(run, tally):
    s = run.summary
    require(s["bound"]["fraction_of_bound"] <= 1, f"a step beats its bound: {s['bound']}")
    if s["bound"]["step_s"]:
        near(sum(s["bound"]["share"].values()), 1, "shares of a step", 1e-6)
    for g in s.get("itl_parts") or []:
        near(sum(g["parts_s"].values()), g["gap_s"], f"parts of the {g['at']} gap", 1e-6, 1e-10)
        tally["parts"] += 1
    for p in s["pools"]:
        require(0 <= p["utilization"] <= 1 + 1e-7 and 0 <= p["kv_peak_fraction"] <= 1 + 1e-7, f"a share above 1: {p}")


CHECKS = [check_counts, check_rows, check_latencies, check_gaps, check_rates, check_parts]


def start(program, *args, **env):
    return subprocess.run([program, *args], capture_output=True, env={**os.environ, **env}, timeout=600)


def same_bytes(a, b, but=()):
    require(sorted(os.listdir(a)) == sorted(os.listdir(b)), "the same scenario leaves other files")
    for name in set(os.listdir(a)) - set(but):
        with open(os.path.join(a, name), "rb") as f, open(os.path.join(b, name), "rb") as g:
            require(f.read() == g.read(), f"the same scenario gives another {name}")


def try_scenario(program, scenario, files, again, tally):
    """Runs a scenario and checks what it leaves; False: it is refused."""
    with tempfile.TemporaryDirectory() as at:
        path, out, second = (os.path.join(at, name) for name in ("scenario.yaml", "out", "second"))
        with open(path, "w") as f:
            json.dump(scenario, f)
        for name, text in files.items():
            with open(os.path.join(at, name), "w") as f:
                f.write(text)
        p = start(program, "run", path, "--headroom", "off", "--view", "vllm", "--out", out, GOMAXPROCS="2")
        require(p.returncode in (0, 1, 2) and b"goroutine" not in p.stderr, f"crash: {p.stderr[-2000:].decode()}")
        if p.returncode:
            tally["refusals"][p.stderr.decode().replace(path, "FILE").strip()[:160]] += 1
            return False
        run = Run(scenario, out)
        for check in CHECKS:
            check(run, tally)
        if again:  # on one core; and as it was written, whose page lists other values as defaults
            for source, but in ((path, ()), (os.path.join(out, "scenario.yaml"), ("report.html",))):
                p = start(program, "run", source, "--headroom", "off", "--view", "vllm", "--out", second + str(len(but)),
                          GOMAXPROCS="1", GOGC="20")
                require(p.returncode == 0, f"it does not run again: {p.stderr.decode()}")
                same_bytes(out, second + str(len(but)), but)
            tally["byte for byte"] += 1
    return True


def main(program, n="300", seed="1"):
    tally = collections.Counter()
    tally["refusals"] = collections.Counter()
    ran, wrong = 0, 0
    for i in range(int(n)):
        scenario, files = scenarios.numbered(seed, i)
        try:
            ran += try_scenario(program, scenario, files, i % 4 == 0, tally)
        except (Wrong, OSError, subprocess.TimeoutExpired) as e:
            wrong += 1
            print(f"scenario {seed}/{i}: {e}\n{json.dumps(scenario)}", flush=True)
    refusals = tally.pop("refusals")
    print(f"{ran} of {n} scenarios ran, {wrong} wrong; recomputed: " + ", ".join(f"{k} {v}" for k, v in tally.items()))
    for why, times in refusals.most_common(8):
        print(f"refused {times} times: {why}")
    if wrong or ran < 0.6 * int(n):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
