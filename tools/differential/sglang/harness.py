#!/usr/bin/env python3
"""Compares decodesim's sglang engine with SGLang's own scheduler, step by step, on random cases. See README.md."""
import argparse
import collections
import gzip
import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import decode_side  # noqa: E402
import ranks_side  # noqa: E402
import sglang_side  # noqa: E402


def ours(binary, drawn):
    """What decodesim does with the cases: for each the steps, and the times of tokens with and without runs of steps."""
    with tempfile.TemporaryDirectory() as d:
        src, dst = os.path.join(d, "cases.jsonl"), os.path.join(d, "ours.jsonl")
        with open(src, "w") as f:
            f.writelines(json.dumps(c) + "\n" for c in drawn)
        env = dict(os.environ, DIFFERENTIAL_IN=src, DIFFERENTIAL_OUT=dst)
        subprocess.run([binary, "-test.run", "^TestCasesOfAFile$"], check=True, env=env, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in open(dst)]


def first_difference(a, b):
    """Of our steps a and SGLang's b: index and what differs, or None."""
    for i in range(max(len(a), len(b))):
        if i >= len(a) or i >= len(b):
            return i, "one side ends"
        x, y = a[i], b[i]
        if x["t"] != y["start"]:
            return i, "start"
        dx, dy = ({r[0]: tuple(r[1:]) for r in s["batch"]} for s in (x, y))
        if sorted(x["preempted"] or []) != sorted(y["preempted"]):
            return i, "victims"
        if dx.keys() != dy.keys():
            return i, "who is in the batch"
        if any(dx[k][1] != dy[k][1] for k in dx):
            return i, "tokens found in the cache"
        if dx != dy:
            return i, "tokens per request"
        if x["free"] != y["free"]:
            return i, "free tokens"
    return None


def show(c, i, d, a, b):
    print(f"--- case {i} ({c['kind']}): {d[1]} at step {d[0]}; " + ", ".join(f"{k}={v}" for k, v in c.items() if k not in ("requests", "kind")))
    for j in range(max(0, d[0] - 2), d[0] + 2):
        for name, s in (("ours  ", a), ("SGLang", b)):
            if j < len(s):
                x = s[j]
                print(f"  {j} {name} start={x.get('start', x['t'])/1e6} free={x['free']} preempted={x['preempted']} {[tuple(r) for r in x['batch']]}"
                      + (f" ratio={x['ratio']:.6f} evictable={x['evictable']} composed={x['t']/1e6}" if "ratio" in x else ""))
    ids = {r[0] for s in (a, b) if d[0] < len(s) for r in s[d[0]]["batch"]}
    print("  ", [r for r in c["requests"] if r["id"] in ids][:12])


class Score:
    """What came of one scenario."""

    def __init__(self, kind, overlap):
        self.kind, self.overlap = kind, overlap
        self.cases = self.same = self.steps = self.retracted = self.cached = 0
        self.left_out = 0  # SGLang ends a request, or stands still
        self.what, self.times = collections.Counter(), []

    def add(self, c, mine, theirs, shown):
        self.cases += 1
        self.steps += len(theirs.steps)
        self.retracted += sum(len(s["preempted"]) for s in theirs.steps)
        seen = set()
        for s in theirs.steps:
            for rid, _, computed in s["batch"]:
                if rid not in seen:
                    seen.add(rid)
                    self.cached += computed
        d = first_difference(mine["steps"], theirs.steps)
        ends = {int(k): x for k, x in mine["ends"].items()}
        if mine["ends"] != mine["ends1"]:
            self.what["RUNS OF STEPS DIFFER FROM STEPS"] += 1
        for r in c["requests"]:
            if ends.get(r["id"]) and theirs.times.get(r["id"]):
                x, y = ends[r["id"]], theirs.times[r["id"]]
                self.times.append((x[0] - r["arrival"], y[0] - r["arrival"], x[-1] - r["arrival"], y[-1] - r["arrival"]))
        if d is None and ends == theirs.times:
            self.same += 1
            return False
        self.what[d[1] if d else "token times alone"] += 1
        if shown > 0:
            if d:
                show(c, self.cases - 1, d, mine["steps"], theirs.steps)
            else:
                k = next(k for k in ends if ends[k] != theirs.times.get(k))
                print("TIMES", self.cases - 1, k, ends[k], theirs.times.get(k))
        return True

    def __str__(self):
        mean = lambda j: sum(x[j] for x in self.times) / max(1, len(self.times)) / 1e6
        return (f"{self.kind:16} {str(self.overlap):7} {self.cases:5} {self.same:5} {self.steps:7} {self.retracted:8} {self.cached:10}  "
                f"TTFT {mean(0):.2f}/{mean(1):.2f} ms, E2E {mean(2):.1f}/{mean(3):.1f} ms  {dict(self.what) or ''}"
                f"{f'{self.left_out} left out' if self.left_out else ''}")


def outcome(c):
    """What SGLang does with a case, or what it raised instead, with the trace."""
    logging.disable()
    try:
        run = (decode_side if "pd" in c else ranks_side if "ranks" in c else sglang_side).Run(c).run()
    except decode_side.Aborts:
        return None, None, None
    except Exception as e:  # noqa: BLE001
        return None, f"SGLang fails: {type(e).__name__} {str(e)[:90]}", traceback.format_exc()
    return types.SimpleNamespace(steps=run.steps, times=run.times), None, None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sglang", required=True, help="an unpacked wheel of SGLang")
    p.add_argument("--binary", required=True, help="the test binary of this directory's Go package")
    p.add_argument("--cases", type=int, default=100, help="per scenario")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", help="scenarios, by comma")
    p.add_argument("--normal", action="store_true", help="only without the overlap scheduler")
    p.add_argument("--overlap", action="store_true", help="only with it")
    p.add_argument("--show", type=int, default=0, help="print the first differences of so many cases")
    p.add_argument("--record", help="run short cases alone, and write those that are equal, and what SGLang did, to this file")
    p.add_argument("--record-cases", type=int, default=3, help="so many of each scenario")
    p.add_argument("--record-steps", type=int, default=150, help="with at most so many steps")
    a = p.parse_args()
    sglang_side.load(os.path.abspath(a.sglang))
    decode_side.load()
    ranks_side.load()
    workers = multiprocessing.get_context("fork").Pool(os.cpu_count())
    modes = [False] * (not a.overlap) + [True] * (not a.normal)
    print(f"{'scenario':16} overlap cases  same   steps  retract cached-tok  ours/SGLang")
    shown, equal, recorded, total, steps = a.show, True, [], 0, 0
    for kind in a.only.split(",") if a.only else cases.KINDS:
        for overlap in modes:
            rnd, start = random.Random(f"{a.seed} {kind} {overlap}"), time.time()
            drawn = [cases.draw(rnd, kind, overlap) for _ in range(a.cases)]
            score = Score(kind, overlap)
            both = [(c, mine) for c, mine in zip(drawn, ours(a.binary, drawn)) if not a.record or 20 < len(mine["steps"]) <= a.record_steps]
            for (c, mine), (theirs, error, trace) in zip(both, workers.imap(outcome, [c for c, _ in both], 4)):
                if error:
                    score.cases += 1
                    score.what[error] += 1
                    if shown > 0:
                        shown -= 1
                        print(trace, file=sys.stderr)
                    continue
                if theirs is None:
                    score.left_out += 1
                    continue
                different = score.add(c, mine, theirs, shown)
                shown -= different
                few = sum((r["case"]["kind"], r["case"]["overlap"]) == (kind, overlap) for r in recorded) < a.record_cases
                if a.record and few and not different:
                    taken = [dict(t=s["start"], batch=sorted(s["batch"]), preempted=s["preempted"], free=s["free"]) for s in theirs.steps]
                    recorded.append(dict(case=c, steps=taken, ends=theirs.times))
            equal = equal and score.same == score.cases
            total, steps = total + score.same, steps + score.steps
            print(score, f"{time.time() - start:.0f} s", flush=True)
    print(f"{total} cases equal, {steps} steps")
    if a.record:
        with open(a.record, "wb") as f, gzip.GzipFile("", "wb", fileobj=f, mtime=0) as z:
            z.writelines((json.dumps(r, separators=(",", ":")) + "\n").encode() for r in recorded)
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
