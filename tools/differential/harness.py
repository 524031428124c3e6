#!/usr/bin/env python3
"""Compares decodesim's vllm-v1 scheduler with vLLM's own, step by step, on random cases. See README.md."""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import vllm_side  # noqa: E402


def case(rnd, kind, asyn):
    """Draws a case. Sizes are small: what goes wrong goes wrong with few requests, and a difference can be read."""
    one = rnd.choice
    c = dict(kind=kind, prefix_caching=False, threshold=0, priority=False, spec=0, contents=[], step_ns=10_000_000, token_ns=one([0, 10_000, 100_000]))
    c["async"] = asyn
    c["block_size"] = one([4, 16, 16])
    n = rnd.randint(2, 60)
    prompt, output = one([20, 60, 300]), one([5, 30, 100])
    c["max_num_seqs"] = one([2, 4, 16, 64])
    c["max_num_batched_tokens"] = max(c["max_num_seqs"], one([16, 64, 512, 2048]))
    c["max_model_len"] = 2 * prompt + output + 8
    blocks = lambda tokens: -(-tokens // c["block_size"])
    need = blocks(c["max_model_len"])
    c["num_gpu_blocks"] = 1 + need * 64  # plenty
    if kind in ("budget",):
        c["max_num_batched_tokens"] = max(c["max_num_seqs"], one([4, 8, 16, 32]))
    if kind in ("preemption", "prefix", "spec-preemption", "priority", "everything", "spec-prefix"):
        c["num_gpu_blocks"] = 1 + int(need * one([1, 1.2, 1.5, 2, 3]))
    if kind in ("preemption", "everything", "priority"):
        c["full_isl"] = one([True, True, False])
    if kind in ("threshold", "everything"):
        c["threshold"] = one([3, 10, 40])
    if kind in ("priority", "everything"):
        c["priority"] = True
    if kind.startswith("spec"):
        c["spec"], c["spec_method"] = one([1, 2, 3, 5]), "ngram"
        if kind == "spec-eagle":
            c["spec_method"] = "eagle"
        c["max_num_batched_tokens"] = max(c["max_num_batched_tokens"], c["max_num_seqs"] * (1 + c["spec"]) if rnd.random() < 0.7 else c["max_num_seqs"])
    if kind.startswith("stages"):
        c["stages"] = one([[1, 1], [1, 1, 1, 1], [3, 1], [2, 2, 1]])
    if kind == "watermark":
        c["num_gpu_blocks"] = 1 + int(need * one([2, 3, 5]))
        c["watermark"] = one([0.01, 0.05, 0.2])
    if kind == "unchunked":
        c["chunked"] = False
        c["max_num_batched_tokens"] = max(c["max_model_len"], c["max_num_batched_tokens"])
    if kind in ("prefix", "everything", "spec-prefix", "prefix-ample", "stages-prefix"):
        c["prefix_caching"] = True
        for _ in range(rnd.randint(1, 6)):
            parent = rnd.randint(0, len(c["contents"])) if rnd.random() < 0.6 else 0
            c["contents"].append([parent, rnd.randint(1, prompt)])
    rate = one([0.2, 1, 5]) / (output * 0.010)
    t, reqs = 0.0, []
    burst = rnd.random() < 0.2
    for i in range(n):
        t += 0 if burst else rnd.expovariate(rate * min(c["max_num_seqs"], 8))
        r = dict(id=i, arrival=int(t * 1e9) // 1000 * 1000 + i + 1 if not burst else 0, prompt=rnd.randint(1, 2 * prompt), output=rnd.randint(1, output))
        if c["contents"] and rnd.random() < 0.8:
            r["content"] = rnd.randint(1, len(c["contents"]))
        if c["priority"]:
            r["priority"] = rnd.randint(0, 2)
        if kind == "eos":
            r["max_output"] = r["output"] + one([0, 1, 5, 40])
        reqs.append(r)
    if kind == "eos":
        c["max_model_len"] += 48
        c["num_gpu_blocks"] = 1 + 64 * blocks(c["max_model_len"])
    c["requests"] = reqs
    c["path"] = None
    return c


def ours(cases):
    text = "".join(json.dumps(c) + "\n" for c in cases)
    done = subprocess.run([os.environ["DIFFERENTIAL"]], input=text, capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(done.stderr[:4000])
    return [json.loads(line) for line in done.stdout.splitlines()]


def first_difference(c, a, b):
    """Of our steps a and vLLM's b: index and what differs, or None."""
    for i in range(max(len(a), len(b))):
        if i >= len(a) or i >= len(b):
            return i, "one side ends"
        x, y = a[i], b[i]
        if y.get("start", y["t"]) != x["t"]:
            return i, "start"
        if sorted(map(tuple, x["batch"])) != sorted(map(tuple, y["batch"])):
            dx, dy = {r[0]: tuple(r[1:]) for r in x["batch"]}, {r[0]: tuple(r[1:]) for r in y["batch"]}
            if sorted(x["preempted"] or []) != sorted(y["preempted"]):
                return i, "victims"
            if dx.keys() != dy.keys():
                return i, "who is in the batch"
            if any(dx[k][1] != dy[k][1] for k in dx):
                return i, "tokens found in the cache"
            return i, "tokens per request"
        if sorted(x["preempted"] or []) != sorted(y["preempted"]):
            return i, "victims"
        if x["free"] != y["free"]:
            return i, "free blocks"
        if [r[0] for r in x["batch"]] != [r[0] for r in y["batch"]]:
            return i, "order in the batch"
    return None


# Scenarios with known differences, by release: they do not make the comparison fail.
OPEN = {"0.22": {"everything", "priority"}, "0.33": {"everything", "priority", "spec-prefix"}}


def main():
    failed = []
    p = argparse.ArgumentParser()
    p.add_argument("--vllm", required=True, help="an unpacked source distribution of vLLM")
    p.add_argument("--cases", type=int, default=200, help="per scenario")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--sync", action="store_true", help="only without asynchronous scheduling")
    p.add_argument("--asynchronous", action="store_true", help="only with it")
    p.add_argument("--cap-drafts", action="store_true", help="drafters stop at max_tokens, as decodesim's do")
    p.add_argument("--ahead", action="store_true", help="asynchronous scheduling as decodesim has it: vLLM's synchronous scheduler, arrivals a step late")
    p.add_argument("--set", action="append", default=[], help="key=value over every case's")
    p.add_argument("--drift", action="store_true", help="print what differs, and do not fail")
    p.add_argument("--show", type=int, default=0, help="print the first differences of so many cases")
    a = p.parse_args()
    vllm_side.load(os.path.realpath(a.vllm))
    release = ".".join(vllm_side.version.split(".")[:2])
    kinds = ["plain", "budget", "unchunked", "preemption", "prefix-ample", "prefix", "threshold", "watermark", "priority", "eos", "everything", "spec", "spec-preemption", "spec-prefix", "spec-eagle", "stages", "stages-prefix"]
    if a.only:
        kinds = a.only.split(",")
    modes = [False] * (not a.asynchronous) + [True] * (not a.sync)
    print(f"{'scenario':16} async  cases   same   steps  preempt  cached-tok  first differences")
    for kind in kinds:
        for asyn in [m for m in modes if not (m and kind.startswith("stages"))]:
            rnd = random.Random(f"{a.seed} {kind} {asyn}")
            cases = [case(rnd, kind, asyn) for _ in range(a.cases)]
            for c in cases:
                c["cap_drafts"], c["ahead"] = a.cap_drafts, a.ahead
                c["version"] = release
                if release == "0.22":
                    c["watermark"] = 0.0  # it has none
                for kv in a.set:
                    k, v = kv.split("=")
                    c[k] = json.loads(v)
            start = time.time()
            results = ours(cases)
            ours_s = time.time() - start
            same = steps = preempt = cached = shown = fast = 0
            what = collections.Counter()
            dt = []
            for i, (c, r) in enumerate(zip(cases, results)):
                try:
                    v = vllm_side.Run(c).run()
                except Exception as e:  # noqa: BLE001
                    what[f"vLLM fails: {type(e).__name__} {str(e)[:60]}"] += 1
                    if a.show > shown:
                        shown += 1
                        import traceback
                        traceback.print_exc()
                    continue
                if getattr(v, "idle", 0):
                    what["vLLM is stuck"] += 1
                    continue
                steps += len(v.steps)
                preempt += sum(len(s["preempted"]) for s in v.steps)
                cached += sum(r["cached"] for r in []) if False else 0
                seen = set()
                for s in v.steps:
                    for rid, _, computed in s["batch"]:
                        if rid not in seen:
                            seen.add(rid)
                            cached += computed
                d = first_difference(c, r["steps"], v.steps)
                mine = {int(k): x for k, x in r["ends"].items()}
                if d is None:
                    same += 1
                    if mine != v.times:
                        what["same steps, other token times"] += 1
                        if a.show > shown:
                            shown += 1
                            for k in sorted(mine):
                                if mine[k] != v.times.get(k):
                                    print("TIMES", k, c["requests"][k], mine[k], v.times.get(k))
                                    break
                else:
                    what[d[1]] += 1
                    if a.show > shown:
                        shown += 1
                        show(c, i, d, r["steps"], v.steps)
                if r["ends"] != r["ends1"]:
                    fast += 1
                for k in mine:
                    if k in v.times and v.times[k]:
                        q = c["requests"][k]
                        dt.append((mine[k][0] - q["arrival"], v.times[k][0] - q["arrival"], mine[k][-1] - q["arrival"], v.times[k][-1] - q["arrival"]))
            if (same < len(cases) or what or fast) and kind not in OPEN.get(release, ()):
                failed.append(f"{kind} {'asynchronous' if asyn else 'synchronous'}")
            mean = lambda j: sum(x[j] for x in dt) / max(1, len(dt)) / 1e6
            print(f"{kind:16} {str(asyn):5} {len(cases):6} {same:6} {steps:7} {preempt:8} {cached:11}  {dict(what)}"
                  f" TTFT {mean(0):.2f}/{mean(1):.2f} ms, E2E {mean(2):.1f}/{mean(3):.1f} ms, {time.time()-start:.0f}s (ours {ours_s:.1f}s)" + (f" RUNS DIFFER {fast}" if fast else ""), flush=True)
    if failed and not a.drift:
        sys.exit(f"vLLM {vllm_side.version} differs: " + ", ".join(failed))


def show(c, i, d, a, b):
    print(f"--- case {i} ({c['kind']}): {d[1]} at step {d[0]}; " + ", ".join(f"{k}={v}" for k, v in c.items() if k not in ("requests", "kind", "path")))
    for j in range(max(0, d[0] - 2), d[0] + 2):
        for name, s in (("ours", a), ("vLLM", b)):
            if j < len(s):
                print(f"  {j} {name} start={s[j].get('start', s[j]['t'])/1e6} free={s[j]['free']} preempted={s[j]['preempted']} {s[j]['batch']}")
    ids = {r[0] for s in (a, b) if d[0] < len(s) for r in s[d[0]]["batch"]}
    print("  ", [r for r in c["requests"] if r["id"] in ids][:12])


if __name__ == "__main__":
    main()
