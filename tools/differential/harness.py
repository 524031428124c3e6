#!/usr/bin/env python3
"""Compares decodesim's vllm-v1 scheduler with vLLM's own, step by step, on random cases. See README.md."""
import argparse
import collections
import json
import multiprocessing
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import ranks  # noqa: E402
import vllm_side  # noqa: E402


def case(rnd, kind, asyn):
    """Draws a case. Sizes are small: what goes wrong goes wrong with few requests, and a difference can be read."""
    if kind.startswith("ranks"):
        return dict(case(rnd, kind[6:] or "plain", asyn), kind=kind, ranks=rnd.choice([2, 3, 8]))
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
    if kind in ("preemption", "stages-preemption", "stages-queue-preemption", "stages-preemption-prefix", "stages-queue-preemption-prefix", "prefix", "spec-preemption", "priority", "everything", "spec-prefix", "spec-eagle-prefix"):
        c["num_gpu_blocks"] = 1 + int(need * one([1, 1.2, 1.5, 2, 3]))
    if kind in ("preemption", "everything", "priority"):
        c["full_isl"] = one([True, True, False])
    if kind in ("threshold", "everything"):
        c["threshold"] = one([3, 10, 40])
    if kind in ("priority", "everything", "pd-priority"):
        c["priority"] = True
    if kind.startswith("spec") or kind == "stages-queue-spec":
        c["spec"], c["spec_method"] = one([1, 2, 3, 5]), "ngram"
        if "eagle" in kind or kind in ("spec-draft", "stages-queue-spec"):
            c["spec_method"] = "draft_model" if kind == "spec-draft" else "eagle"
        c["max_num_batched_tokens"] = max(c["max_num_batched_tokens"], c["max_num_seqs"] * (1 + c["spec"]) if rnd.random() < 0.7 else c["max_num_seqs"])
        if kind == "spec-draft":
            c["max_num_batched_tokens"] += c["max_num_seqs"]
    if kind.startswith("stages"):
        c["stages"] = one([[1, 1], [1, 1, 1, 1], [3, 1], [2, 2, 1]])
    if "hybrid" in kind:
        c["window"], c["window_groups"] = one([16, 50, 128]), one([1, 1, 3])
        c["num_gpu_blocks"] *= 1 + c["window_groups"]
        if kind in ("hybrid-blocks", "hybrid-prefix-blocks", "spec-hybrid-blocks"):
            each = need + c["window_groups"] * min(need, blocks(c["window"] - 1 + 2 * c["max_num_batched_tokens"] + 2 * c["spec"]) + 1)
            c["num_gpu_blocks"] = 1 + int(each * one([1, 1.2, 1.5, 2, 3]))
    if kind.startswith("pd"):
        c["pull"] = dict(prefill_ns=1000, latency_ns=one([100_137, 5_000_137, 20_000_137, 100_000_137]))
        # No difference of two lengths is a whole number of steps, which would have a cache arrive just as a step ends.
        c["pull"]["token_ns"] = one([1003, 10_007, 100_003]) if kind == "pd-order" else 0
        c["max_num_batched_tokens"] = max(c["max_num_batched_tokens"], 128)
        c["max_num_seqs"] = c["max_num_seqs"] if kind == "pd-few" else 64
        if kind in ("pd-blocks", "pd-eos", "pd-prefix-blocks", "pd-priority"):
            c["num_gpu_blocks"] = 1 + int(need * one([1.5, 2, 3, 5]))
    if kind.startswith("send"):
        c["send"] = dict(latency_ns=one([100_137, 5_000_137, 20_000_137, 100_000_137]))
        c["num_gpu_blocks"] = 1 + int(need * one([1, 1.5, 2, 3, 5]))
    if kind == "watermark":
        c["num_gpu_blocks"] = 1 + int(need * one([2, 3, 5]))
        c["watermark"] = one([0.01, 0.05, 0.2])
    if kind == "unchunked":
        c["chunked"] = False
        c["max_num_batched_tokens"] = max(c["max_model_len"], c["max_num_batched_tokens"])
    if kind in ("prefix", "everything", "spec-prefix", "spec-eagle-prefix", "prefix-ample", "stages-prefix", "stages-queue-prefix", "stages-preemption-prefix", "stages-queue-preemption-prefix", "pd-prefix", "pd-prefix-blocks", "hybrid-prefix", "hybrid-prefix-blocks", "send-prefix", "spec-hybrid-prefix", "spec-eagle-hybrid-prefix"):
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
        if kind in ("eos", "pd-eos", "stages-queue-eos"):
            r["max_output"] = r["output"] + one([0, 1, 5, 40])
        if kind.startswith("send"):
            r["output"] = 2
        reqs.append(r)
    if kind in ("eos", "pd-eos", "stages-queue-eos"):
        c["max_model_len"] += 48
        c["num_gpu_blocks"] = 1 + 64 * blocks(c["max_model_len"]) if kind != "pd-eos" else c["num_gpu_blocks"] + blocks(48)
    c["requests"] = talks(c, rnd) if "turns" in kind else reqs
    return c


def talks(c, rnd):
    """Draws turns, each of which comes when the one before has ended, and begins with its prompt and output."""
    c["prefix_caching"], c["contents"], c["max_model_len"], requests = True, [], 2400, []
    if "window" in c:
        c["window"] = rnd.choice([c["block_size"] * rnd.choice([1, 3, 8]), rnd.randint(c["block_size"], 150)])
        if c["spec"]:  # a window that drafts fill passes blocks without a name
            c["window"] = max(c["window"], 16)
    each = -(-2400 // c["block_size"]) * (1 + c.get("window_groups", 0))
    c["num_gpu_blocks"] = 1 + (int(each * rnd.choice([1, 1.3, 2])) if c["kind"].endswith("blocks") else each * 40)
    for talk in range(rnd.randint(1, 8)):
        node, tokens, t = 0, 0, rnd.randint(0, 10**9)
        for turn in range(rnd.randint(2, 5)):
            prompt, output = rnd.randint(1, 60), rnd.choice([rnd.randint(1, 60), rnd.randint(1, 300)])
            c["contents"] += [[node, prompt], [len(c["contents"]) + 1, output]]
            node = len(c["contents"])
            requests.append(dict(arrival=t, prompt=tokens + prompt, output=output, content=node - 1, answer=node))
            if c["kind"].endswith("eos"):
                requests[-1]["max_output"] = output + rnd.choice([0, 1, 5, 40])
            tokens += prompt + output
            t += 60 * 10**9 + rnd.randint(0, 10**9)
    requests.sort(key=lambda r: r["arrival"])
    return [dict(r, id=i, arrival=r["arrival"] + i) for i, r in enumerate(requests)]


def ours(cases):
    text = "".join(json.dumps(c) + "\n" for c in cases)
    done = subprocess.run([os.environ["DIFFERENTIAL"]], input=text, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr[:4000])  # the pool of processes waits for ever for one that exits
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


KINDS = ["plain", "budget", "unchunked", "preemption", "prefix-ample", "prefix", "threshold", "watermark", "priority", "eos", "everything", "spec",
         "spec-preemption", "spec-prefix", "spec-eagle", "spec-eagle-prefix", "spec-draft", "hybrid", "hybrid-blocks", "hybrid-prefix", "hybrid-prefix-blocks", "spec-hybrid", "spec-hybrid-blocks", "spec-hybrid-prefix",
         "spec-eagle-hybrid", "spec-eagle-hybrid-prefix", "pd", "pd-few", "pd-prefix", "pd-blocks", "pd-prefix-blocks",
         "pd-eos", "pd-order", "pd-priority", "stages", "stages-prefix",
         "stages-queue", "stages-queue-eos", "stages-queue-prefix", "stages-queue-spec",
         "stages-hybrid", "stages-queue-hybrid", "stages-preemption", "stages-queue-preemption",
         "stages-preemption-prefix", "stages-queue-preemption-prefix", "turns", "hybrid-turns", "hybrid-turns-blocks", "hybrid-turns-eos", "spec-eagle-turns", "spec-hybrid-turns", "spec-eagle-hybrid-turns", "stages-turns", "stages-queue-turns", "stages-hybrid-turns", "stages-queue-hybrid-turns", "stages-queue-hybrid-turns-eos", "send", "send-prefix",
         "ranks", "ranks-preemption", "ranks-prefix", "ranks-spec", "ranks-spec-preemption", "ranks-spec-prefix", "ranks-spec-eagle", "ranks-spec-eagle-prefix", "ranks-spec-draft"]
NOT_OF_022 = ["pd-priority", "stages-queue-spec"]


class Tally:
    """What came of the cases of a scenario."""

    def __init__(self):
        self.same = self.steps = self.preempt = self.cached = self.n = 0
        self.what, self.shown = collections.Counter(), []
        self.sums = [0.0] * 4

    def add(self, other):
        for name in ("same", "steps", "preempt", "cached", "n"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.what += other.what
        self.shown += other.shown
        self.sums = [a + b for a, b in zip(self.sums, other.sums)]


def compare(job):
    """Compares some cases of a scenario."""
    cases, show_cases = job
    tally = Tally()
    for i, (c, r) in enumerate(zip(cases, ours(cases))):
        difference = one(c, r, tally)
        if difference:
            tally.what[difference] += 1
            if show_cases:
                tally.shown.append(shown(c, i, difference, r))
    return tally


def take_as_ours(c, r):
    """Lets each transfer of a case take as long as ours did."""
    transfers = {int(k): x["transferred"] - x["allocated"] for k, x in r["transfers"].items()}
    c["_takes"] = transfers.__getitem__


def one(c, r, tally):
    """Runs a case on vLLM and returns what differs from ours, or None."""
    if c.get("pull", {}).get("token_ns"):  # how links are shared is not vLLM's: each transfer takes as long as ours
        take_as_ours(c, r)
    try:
        v = ranks.run(c)
    except Exception as e:  # noqa: BLE001
        return f"vLLM fails: {type(e).__name__} {str(e)[:60]}"
    c["_vllm"] = v.steps
    tally.steps += len(v.steps)
    tally.preempt += sum(len(s["preempted"]) for s in v.steps)
    seen = set()
    for s in v.steps:
        for rid, _, computed in s["batch"]:
            if rid not in seen:
                seen.add(rid)
                tally.cached += computed
    mine = {int(k): x for k, x in r["ends"].items()}
    for q in c["requests"]:
        a, b = mine.get(q["id"]), v.times.get(q["id"])
        if a and b:
            tally.n += 1
            for j, x in enumerate((a[0], b[0], a[-1], b[-1])):
                tally.sums[j] += (x - q["arrival"]) / 1e6
    d = first_difference(c, r["steps"], v.steps)
    c["_at"] = d[0] if d else 0
    if v.idle:
        return "vLLM is stuck"
    if d:
        return d[1]
    if c.get("pull") and v.connector and {int(k): x["allocated"] for k, x in r["transfers"].items()} != v.connector.allocated:
        return "same steps, other times of allocation"
    if mine != v.times:
        return "same steps, other token times"
    if r["ends"] != r["ends1"]:
        return "runs of steps differ"
    tally.same += 1
    return None


def shown(c, i, difference, r):
    """Returns the first difference of a case in words."""
    text = [f"--- case {i} ({c['kind']}): {difference} at step {c.get('_at')}; " + ", ".join(f"{k}={v}" for k, v in c.items() if k not in ("requests", "kind") and k[0] != "_")]
    at, ids = c.get("_at", 0), set()
    for j in range(max(0, at - 2), at + 2):
        for name, s in (("ours", r["steps"]), ("vLLM", c.get("_vllm", []))):
            if j < len(s):
                text.append(f"  {j} {name} start={s[j].get('start', s[j]['t'])/1e6} free={s[j]['free']} preempted={s[j]['preempted']} {s[j]['batch']}")
                ids |= {x[0] for x in s[j]["batch"]}
    return "\n".join(text + [f"   {[q for q in c['requests'] if q['id'] in ids][:12]}"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--vllm", required=True, help="an unpacked source distribution of vLLM")
    p.add_argument("--cases", type=int, default=100, help="per scenario")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", help="scenarios, with commas between")
    p.add_argument("--sync", action="store_true", help="only without asynchronous scheduling")
    p.add_argument("--asynchronous", action="store_true", help="only with it")
    p.add_argument("--set", action="append", default=[], help="key=value over every case's")
    p.add_argument("--drift", action="store_true", help="print what differs, and do not fail")
    p.add_argument("--show", type=int, default=0, help="print the first differences of so many cases")
    a = p.parse_args()
    kinds = a.only.split(",") if a.only else KINDS
    unknown = [k for k in kinds if k not in KINDS]
    if unknown:
        sys.exit(f"no scenario {', '.join(unknown)}; there are " + ", ".join(KINDS))
    vllm_side.load(os.path.realpath(a.vllm))
    release = ".".join(vllm_side.version.split(".")[:2])
    failed, total = [], Tally()
    workers = multiprocessing.get_context("fork").Pool(os.cpu_count())
    print(f"vLLM {vllm_side.version}\n{'scenario':16} {'scheduling':12} cases  equal    steps preempted  cached  first differences")
    for kind in kinds:
        for asyn in (False, True):
            if kind in NOT_OF_022 and release == "0.22" and not a.only or asyn and a.sync or not asyn and a.asynchronous or asyn != kind.startswith("stages-queue") and kind.startswith("stages"):
                continue
            tally = scenario(a, kind, asyn, release, workers)
            name = "asynchronous" if asyn else "synchronous"
            mean = [x / max(1, tally.n) for x in tally.sums]
            apart = "" if tally.same == a.cases else f" TTFT {mean[0]:.2f}/{mean[1]:.2f} ms, E2E {mean[2]:.1f}/{mean[3]:.1f} ms"
            print(f"{kind:16} {name:12} {a.cases:5} {tally.same:6} {tally.steps:8} {tally.preempt:9} {tally.cached:7}  {dict(tally.what) or ''}{apart}", flush=True)
            print(*tally.shown[: a.show], sep="\n", end="\n" if tally.shown and a.show else "")
            if tally.same < a.cases:
                failed.append(f"{kind} {name}")
            total.add(tally)
    print(f"{total.same} cases equal, {total.steps} steps")
    if failed and not a.drift:
        sys.exit(f"vLLM {vllm_side.version} differs: " + ", ".join(failed))


def scenario(a, kind, asyn, release, workers):
    """Draws the cases of a scenario and compares them, a share on each core."""
    rnd = random.Random(f"{a.seed} {kind} {asyn}")
    cases = [case(rnd, kind, asyn) for _ in range(a.cases)]
    for c in cases:
        c["version"] = release
        if release == "0.22":
            c["watermark"] = 0.0  # it has none
        c.update((k, json.loads(v)) for k, v in (kv.split("=") for kv in a.set))
    tally = Tally()
    for part in workers.imap(compare, [(cases[i : i + 10], a.show > 0) for i in range(0, len(cases), 10)]):
        tally.add(part)
    return tally


if __name__ == "__main__":
    main()
