"""Real clients against decodesim serve: what each reports, beside what the simulator says of the same requests.

python live.py BINARY CLIENTS OUT [STREAMS...]

CLIENTS is where setup.sh has installed the tools. Each run is a service of its own; a tool that is not installed is
said to be missing; TOOL names a single one. The clock is slowed down so far that the clients keep up, or by SPEED. The load of the machine stands beside the numbers: whatever else runs on it is in them.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

BINARY, CLIENTS, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
STREAMS = [int(n) for n in sys.argv[4:]] or [200, 1000]
TOKENS, WORDS, PORT = 32, 150, 8200
URL = f"http://127.0.0.1:{PORT}"
SPEEDS = {200: "0.1", 1000: "0.05"}  # a client of Python or JavaScript keeps up with a few thousand tokens/s


def commands(streams, out):
    """What is run, by name: a command, and what reads its report."""
    n, python, tok = str(5 * streams if streams < 1000 else 2 * streams), str(CLIENTS / "python/bin/python"), str(CLIENTS / "tokenizer")
    here = Path(__file__).resolve().parent
    return {
        "openai, Python": ([python, here / "streams.py", f"{URL}/v1", str(streams), n, str(TOKENS), str(WORDS)], streamed),
        "openai, JavaScript": (["node", CLIENTS / "streams.mjs", f"{URL}/v1", str(streams), n, str(TOKENS), str(WORDS)],
                               streamed),
        "AIPerf": ([CLIENTS / "python/bin/aiperf", "profile", "--model", "m", "--url", URL, "--endpoint-type", "chat",
                    "--streaming", "--concurrency", str(streams), "--request-count", n, "--isl", str(WORDS), "--osl",
                    str(TOKENS), "--extra-inputs", "ignore_eos:true", "--tokenizer", tok, "--use-server-token-count",
                    "--ui-type", "none", "--artifact-dir", out / "aiperf"], aiperf),
        "GuideLLM": ([CLIENTS / "guidellm/bin/guidellm", "run", "--backend",
                      f"kind=openai_http,target={URL},model=m,request_format=/v1/chat/completions", "--profile",
                      f"kind=concurrent,streams={streams}", "--constraint", f"kind=max_requests,count={n}",
                      "--tokenizer", f"kind=huggingface_auto,model={tok}", "--data",
                      f"kind=synthetic_text,prompt_tokens={WORDS},output_tokens={TOKENS}", "--output",
                      "kind=json,path=guidellm.json", "--disable-console-interactive"], guidellm),
        "vllm bench serve": ([CLIENTS / "guidellm/bin/python", here / "vllm_bench.py", "--backend", "openai-chat",
                              "--base-url", URL, "--endpoint", "/v1/chat/completions", "--model", "m", "--tokenizer", tok,
                              "--dataset-name", "random", "--random-input-len", str(WORDS), "--random-output-len",
                              str(TOKENS), "--ignore-eos", "--num-prompts", n, "--max-concurrency", str(streams),
                              "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
                              "--save-result", "--result-dir", out, "--result-filename", "vllm.json"], vllm),
        "hey": ([CLIENTS / "bin/hey", "-n", n, "-c", str(streams), "-m", "POST", "-t", "600", "-T", "application/json",
                 "-d", json.dumps({"prompt": "word " * WORDS, "max_tokens": TOKENS, "ignore_eos": True}),
                 f"{URL}/v1/completions"], hey),
    }


def streamed(out, text):
    return json.loads(text.strip().splitlines()[-1])


def aiperf(out, _):
    d = json.loads((out / "aiperf/profile_export_aiperf.json").read_text())
    pick = lambda k: {q: d[k][q] for q in ("p50", "p99")} if k in d else None
    return {"ttft_ms": pick("time_to_first_token"), "itl_ms": pick("inter_chunk_latency"),
            "e2e_ms": pick("request_latency"), "requests_per_s": d["request_throughput"]["avg"]}


def guidellm(out, _):
    m = json.loads((out / "guidellm.json").read_text())["benchmarks"][0]["metrics"]
    pick = lambda k, scale=1: {q: scale * m[k]["successful"]["percentiles"][q] for q in ("p50", "p99")}
    return {"ttft_ms": pick("time_to_first_token_ms"), "tpot_ms": pick("inter_token_latency_ms"),
            "e2e_ms": pick("request_latency", 1e3), "requests_per_s": m["requests_per_second"]["successful"]["mean"]}


def vllm(out, _):
    d = json.loads((out / "vllm.json").read_text())
    pick = lambda k: {"p50": d[f"p50_{k}_ms"], "p99": d[f"p99_{k}_ms"]}
    return {"ttft_ms": pick("ttft"), "itl_ms": pick("itl"), "e2e_ms": pick("e2el"),
            "requests_per_s": d["request_throughput"]}


def hey(_, text):
    found = {m[1]: 1e3 * float(m[2]) for m in re.finditer(r"(\d+)%+ in ([\d.]+) secs", text)}
    return {"e2e_ms": {"p50": found["50"], "p99": found["99"]},
            "requests_per_s": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])}


def speed_of(streams):
    return os.environ.get("SPEED", SPEEDS.get(streams, "1"))


def wait():
    for _ in range(200):
        try:
            return urllib.request.urlopen(f"{URL}/health", timeout=1)
        except OSError:
            time.sleep(.05)
    raise SystemExit("decodesim serve does not answer")


def measure(name, streams):
    out = OUT / f"{streams}-{re.sub(r'[^a-z]+', '-', name.lower()).strip('-')}"
    out.mkdir(parents=True)
    command, read = commands(streams, out)[name]
    if not Path(str(command[0])).exists() and command[0] != "node":
        return print(f"{streams:5} {name:20} is not installed")
    served = [BINARY, "serve", "chat-8b", "--port", str(PORT), "--served-model-name", "m", "--speed", speed_of(streams),
              "--max-streams", "4096", "--out", str(out / "served")]
    with open(out / "service.txt", "w") as log:
        service = subprocess.Popen(served, stdout=log, stderr=log)
    wait()
    load = os.getloadavg()[0]
    tool = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=out,
                          timeout=900)
    (out / "tool.txt").write_text(tool.stdout + tool.stderr)
    summary = json.loads(urllib.request.urlopen(f"{URL}/summary").read())
    service.send_signal(signal.SIGTERM)
    service.wait()
    try:
        report(name, streams, read(out, tool.stdout), summary, (load, os.getloadavg()[0]))
    except (OSError, KeyError, TypeError, ValueError, IndexError, json.JSONDecodeError) as e:
        print(f"{streams:5} {name:20} left no report ({type(e).__name__}: {e}); see {out / 'tool.txt'}")


def report(name, streams, said, summary, load):
    cells, speed = [], float(speed_of(streams))
    for key in ("ttft", "itl", "tpot", "e2e"):
        if not said.get(f"{key}_ms"):
            continue
        for q in ("p50", "p99"):
            ours, theirs = 1e3 * summary["latency"][f"{key}_s"][q] / speed, said[f"{key}_ms"][q]
            cells.append(f"{key} {q} {theirs:.1f} ({theirs - ours:+.1f})")
    rate = summary["throughput"]["requests_per_s"] * speed
    delay = summary["live"]["written_s" if summary["live"]["written_s"]["n"] else "released_s"]
    print(f"{streams:5} {name:20} " + "  ".join(cells) + f"  {said['requests_per_s']:.1f} requests/s "
          f"({100 * (said['requests_per_s'] / rate - 1):+.1f} %)  written late p50 {1e3 * delay['p50']:.1f} "
          f"p99 {1e3 * delay['p99']:.1f}  n {summary['requests']['completed']}  load {load[0]:.0f} {load[1]:.0f}", flush=True)


print("milliseconds as the tool reports them (less what the simulator says of the same requests)")
for count in STREAMS:
    for tool_name in commands(count, OUT):
        if os.environ.get("TOOL", "") in tool_name:
            measure(tool_name, count)
