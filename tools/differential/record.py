#!/usr/bin/env python3
"""Writes what vLLM's scheduler did in a few small cases, for the test that replays them without Python. See README.md."""
import argparse
import gzip
import json
import os
import random

import harness
import ranks
import vllm_side

KINDS = ["plain", "budget", "unchunked", "preemption", "prefix-ample", "prefix", "threshold", "watermark", "eos", "spec",
         "spec-preemption", "spec-prefix", "spec-draft", "spec-eagle-prefix", "priority", "everything", "stages", "stages-prefix", "stages-queue", "stages-queue-eos", "stages-queue-prefix", "stages-queue-spec", "hybrid", "hybrid-blocks", "hybrid-prefix", "hybrid-prefix-blocks", "stages-hybrid", "stages-queue-hybrid", "stages-preemption", "stages-queue-preemption", "stages-preemption-prefix", "stages-queue-preemption-prefix", "pd", "pd-few", "pd-prefix", "pd-blocks", "pd-prefix-blocks",
         "pd-eos", "pd-order", "ranks", "ranks-preemption", "ranks-prefix", "ranks-spec", "send", "send-prefix"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--vllm", required=True, help="an unpacked source distribution of vLLM")
    p.add_argument("--kinds", default=",".join(KINDS))
    p.add_argument("--each", type=int, default=2, help="cases per scenario and mode")
    p.add_argument("--steps", type=int, default=120, help="the most steps of a case")
    a = p.parse_args()
    vllm_side.load(os.path.abspath(a.vllm))
    version = ".".join(vllm_side.version.split(".")[:2])
    out = os.path.join(harness.HERE, "testdata", f"vllm-{version}.jsonl.gz")
    n = steps = 0
    with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
        for kind in a.kinds.split(","):
            if kind in harness.NOT_OF_022 and version == "0.22":
                continue
            for asyn in [kind.startswith("stages-queue")] if kind.startswith("stages") else (False, True):
                rnd, left = random.Random(f"record {kind} {asyn}"), a.each
                for _ in range(400):
                    c = harness.case(rnd, kind, asyn)
                    c["requests"] = c["requests"][:12]
                    c["version"] = version
                    if version == "0.22":
                        c["watermark"] = 0.0
                    if c.get("pull", {}).get("token_ns"):  # how links are shared is not vLLM's
                        harness.take_as_ours(c, harness.ours([c])[0])
                    v = ranks.run(c)
                    if left == 0 or not 30 <= len(v.steps) <= a.steps:
                        continue
                    seen = [dict(t=s.get("start", s["t"]), batch=s["batch"], preempted=s["preempted"], free=s["free"]) for s in v.steps]
                    line = json.dumps(dict(case={k: x for k, x in c.items() if k[0] != "_"}, steps=seen, ends=v.times), separators=(",", ":"))
                    f.write(line.encode() + b"\n")
                    left, n, steps = left - 1, n + 1, steps + len(seen)
                    if left == 0:
                        break
    print(f"{out}: {n} cases, {steps} steps")


if __name__ == "__main__":
    main()
