"""Recomputes the summary of random scenarios from the rows of their requests and the gaps of their tokens.

    recompute.py PROGRAM [SCENARIOS [SEED]]

It shares no code with the program and knows of it what docs/ say. It fails if a number differs, if a scenario that was
written with the results gives other bytes, or if most of what it draws is refused.
"""

import collections
import json
import math
import os
import subprocess
import sys
import tempfile

import checks
import keys
import scenarios
from run import TOKENS, Run, Wrong, near, quantiles, require


def check_counts(run, tally):
    q, count = run.summary["requests"], collections.Counter(r["outcome"] for r in run.rows)
    require(q["arrived"] == q["completed"] + q["rejected"] + q["failed"] + q["unfinished"], f"conservation: {q}")
    for outcome in ("completed", "rejected", "failed"):
        require(count[outcome] == q[outcome], f"{outcome}: {count[outcome]} rows, the summary has {q[outcome]}")
    require(len(run.rows) in (q["arrived"], q["arrived"] - q["unfinished"]), f"{len(run.rows)} rows of {q}")
    if run.whole():
        for column, key in TOKENS.items():
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
                quantiles(latency[key], values, name + key, tally)


def check_gaps(run, tally):
    """The gaps of a request's tokens sum to its answer, and all of them are the inter-token latencies."""
    bench = run.bench
    if not run.gaps_known():
        return
    chunks = "speculation" in run.scenario
    for n, gaps, ttft, r in zip(bench["output_lens"], bench["itls"], bench["ttfts"], run.rows):
        require(chunks or len(gaps) == n - 1, f"{len(gaps)} gaps of {n} tokens")
        require(abs(math.fsum(gaps) + ttft - r["e2e_s"]) <= 1e-12 * (len(gaps) + 2), f"gaps do not sum to E2E: {r}")
        tally["gaps"] += len(gaps)
    key = "itl_chunk_s" if chunks else "itl_s"
    quantiles(run.summary["latency"][key], [g for gaps in bench["itls"] for g in gaps], key, tally)


def check_rates(run, tally):
    s, q = run.summary, run.summary["requests"]
    if run.warmup or not run.whole() or not s["duration_s"]:
        return
    near(s["throughput"]["requests_per_s"], q["completed"] / s["duration_s"], "requests/s")
    tally["rates"] += 1


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


CHECKS = [check_counts, check_rows, check_latencies, check_gaps, check_rates, check_parts] + checks.CHECKS


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
                p = start(program, "run", source, "--headroom", "off", "--view", "vllm", "--out",
                          second + str(len(but)), GOMAXPROCS="1", GOGC="20")
                require(p.returncode == 0, f"it does not run again: {p.stderr.decode()}")
                same_bytes(out, second + str(len(but)), but)
            tally["byte for byte"] += 1
    return True


def main(program, n="300", seed="1"):
    tally = collections.Counter()
    tally["refusals"] = collections.Counter()
    ran, wrong, had = 0, 0, set()
    for i in range(int(n)):
        scenario, files = scenarios.numbered(seed, i)
        try:
            if try_scenario(program, scenario, files, i % 4 == 0, tally):
                ran, had = ran + 1, had | keys.of(scenario)
        except (Wrong, OSError, subprocess.TimeoutExpired, ArithmeticError, LookupError, TypeError) as e:
            wrong += 1
            print(f"scenario {seed}/{i}: {e!r}\n{json.dumps(scenario)}", flush=True)
    refusals = tally.pop("refusals")
    print(f"{ran} of {n} scenarios ran, {wrong} wrong; recomputed: " + ", ".join(f"{k} {v}" for k, v in tally.items()))
    for why, times in refusals.most_common(8):
        print(f"refused {times} times: {why}")
    lacking = sorted(keys.all_keys() - had - keys.NOT_DRAWN.keys())
    print(f"{len(had)} keys were in scenarios that ran; " + (f"not in any: {', '.join(lacking)}" if lacking else "all"))
    if wrong or ran < 0.6 * int(n):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
