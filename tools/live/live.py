"""Real clients against decodesim serve: what each reports, beside what the simulator says of the same requests.

python live.py BINARY CLIENTS OUT [STREAMS...]

CLIENTS is where setup.sh has installed the tools. Each run is a service of its own; a tool that is not installed is
said to be missing; TOOL names a single one. Differences are in simulated milliseconds: the clock is slowed down so far
that a client keeps up, or by SPEED. Beside them stands what the server and the host add. Where this machine allows it
the server and the tools run with real-time priority, so that whatever else it does is not measured; PRIORITY=0 leaves
that out.
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
TOKENS, WORDS, PORT, HERE = 64, 32, 8200, Path(__file__).resolve().parent
URL = f"http://127.0.0.1:{PORT}"
PER_REPLICA, E2E_S = 250, .85  # streams of a replica, and how long one of their requests then takes in simulation
# So slow that what a client takes for the chunks of a step is little of a step, with 200 streams and with 1,000.
SPEEDS = {"light": (1, .25), "go-openai": (.2, .1), "hey": (.05, .02), "vllm bench serve": (.05, .015), "AIPerf": (.05, .015),
          "GuideLLM": (.04, .01), "openai, Python": (.012, .003), "openai, JavaScript": (.05, .015)}


def priority(level):
    """Returns what a command begins with that is to run before whatever else the machine does."""
    wanted = os.environ.get("PRIORITY", "1") != "0"
    able = wanted and subprocess.run(["chrt", "-r", str(level), "true"], capture_output=True).returncode == 0
    return ["chrt", "-r", str(level)] if able else []


def commands(streams, speed, out):
    """What is run, by name: a command, and what reads its report."""
    n, rate = str(requests_of(streams, speed)), f"{streams / E2E_S * speed:.2f}"
    python, tok, limit = str(CLIENTS / "python/bin/python"), str(CLIENTS / "tokenizer"), str(streams)
    numbers = [f"{URL}/v1", limit, n, str(TOKENS), str(WORDS), rate]
    return {
        "light": ([CLIENTS / "bin/light", "load", str(PORT), limit, n, str(TOKENS), str(WORDS), rate,
                   "0" if streams < 1000 else "0.2"], streamed),
        "go-openai": ([CLIENTS / "bin/compiled", *numbers], streamed),
        "openai, Python": ([python, HERE / "streams.py", *numbers], streamed),
        "openai, JavaScript": (["node", CLIENTS / "streams.mjs", *numbers], streamed),
        "AIPerf": ([CLIENTS / "python/bin/aiperf", "profile", "--model", "m", "--url", URL, "--endpoint-type", "chat",
                    "--streaming", "--concurrency", limit, "--request-rate", rate, "--request-count", n, "--isl",
                    str(WORDS), "--osl", str(TOKENS), "--extra-inputs", "ignore_eos:true", "--tokenizer", tok,
                    "--use-server-token-count", "--ui-type", "none", "--artifact-dir", out / "aiperf"], aiperf),
        "GuideLLM": ([CLIENTS / "guidellm/bin/guidellm", "run", "--backend",
                      f"kind=openai_http,target={URL},model=m,request_format=/v1/chat/completions", "--profile",
                      f"kind=concurrent,streams={streams},rampup_duration={E2E_S / speed:.1f}", "--constraint",
                      f"kind=max_requests,count={n}", "--tokenizer", f"kind=huggingface_auto,model={tok}", "--data",
                      f"kind=synthetic_text,prompt_tokens={WORDS},output_tokens={TOKENS}", "--output",
                      "kind=json,path=guidellm.json", "--disable-console-interactive"], guidellm),
        "vllm bench serve": ([python, HERE / "vllm_bench.py", "--backend", "openai-chat", "--base-url", URL,
                              "--endpoint", "/v1/chat/completions", "--model", "m", "--tokenizer", tok,
                              "--dataset-name", "random", "--random-input-len", str(WORDS), "--random-output-len",
                              str(TOKENS), "--ignore-eos", "--num-prompts", n, "--max-concurrency", limit,
                              "--request-rate", rate, "--percentile-metrics", "ttft,tpot,itl,e2el",
                              "--metric-percentiles", "50,99", "--save-result", "--save-detailed", "--result-dir", out,
                              "--result-filename", "vllm.json"], vllm),
        "hey": ([CLIENTS / "bin/hey", "-n", n, "-c", limit, "-m", "POST", "-t", "600", "-T", "application/json",
                 "-d", json.dumps({"prompt": "word " * WORDS, "max_tokens": TOKENS}), f"{URL}/v1/completions"], hey),
    }


def requests_of(streams, speed):
    """Enough for a p99, and no more than begin in four minutes."""
    return max(streams, min(5 * streams if streams < 1000 else 2 * streams, int(240 * speed * streams / E2E_S)))


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


def echo(streams):
    """What this machine adds by itself: the light client with a server that writes as a steady batch would."""
    light, n, step = str(CLIENTS / "bin/light"), str(4 * streams), 11.5 if streams < 1000 else 13
    server = subprocess.Popen(priority(2) + [light, "echo", str(PORT), n, str(TOKENS), str(-(-streams // PER_REPLICA)),
                                             str(step)], stdout=subprocess.PIPE, text=True)
    time.sleep(.5)
    load = [light, "load", str(PORT), str(streams), n, str(TOKENS), str(WORDS), str(streams / E2E_S),
            "0" if streams < 1000 else "0.2"]
    said = streamed(OUT, subprocess.run(priority(1) + load, capture_output=True, text=True, timeout=120).stdout)
    due = json.loads(server.communicate()[0])
    cells = [f"{key} {q} {said[f'{key}_ms'][q] - x:+.2f}" for q in ("p50", "p99")
             for key, x in (("ttft", due["ttft_ms"][q]), ("itl", due["itl_ms"]))]
    print(f"{streams:5} {'this machine itself':20} speed 1     n {n}  " + "  ".join(cells), flush=True)


def wait():
    for _ in range(400):
        try:
            return urllib.request.urlopen(f"{URL}/health", timeout=1)
        except OSError:
            time.sleep(.05)
    raise SystemExit("decodesim serve does not answer")


def measure(name, streams):
    speed = float(os.environ.get("SPEED", SPEEDS[name][streams >= 1000]))
    out = OUT / f"{streams}-{re.sub(r'[^a-z]+', '-', name.lower()).strip('-')}"
    out.mkdir(parents=True)
    command, read = commands(streams, speed, out)[name]
    if not Path(str(command[0])).exists() and command[0] != "node":
        return print(f"{streams:5} {name:20} is not installed")
    served = [BINARY, "serve", HERE / "fleet.yaml", "--set", f"pools.serve.replicas={-(-streams // PER_REPLICA)}",
              "--port", str(PORT), "--served-model-name", "m", "--speed", str(speed), "--out", out / "served"]
    with open(out / "service.txt", "w") as log:
        service = subprocess.Popen([str(c) for c in priority(2) + served], stdout=log, stderr=log)
    wait()
    probe = subprocess.Popen(priority(3) + [sys.executable, str(HERE / "host.py")], stdout=subprocess.PIPE, text=True)
    tool = subprocess.run([str(c) for c in priority(1) + command], capture_output=True, text=True, cwd=out, timeout=900,
                          env=os.environ | {"GOGC": "400"})
    probe.send_signal(signal.SIGTERM)
    host = json.loads(probe.communicate()[0])
    (out / "tool.txt").write_text(tool.stdout + tool.stderr)
    text = urllib.request.urlopen(f"{URL}/summary").read()
    (out / "summary.json").write_bytes(text)
    service.send_signal(signal.SIGTERM)
    service.wait()
    try:
        report(name, streams, speed, read(out, tool.stdout), json.loads(text), host)
    except (OSError, KeyError, TypeError, ValueError, IndexError, json.JSONDecodeError) as e:
        print(f"{streams:5} {name:20} left no report ({type(e).__name__}: {e}); see {out / 'tool.txt'}")


def report(name, streams, speed, said, summary, host):
    cells = []
    for key in ("ttft", "itl", "tpot", "e2e"):
        if not said.get(f"{key}_ms"):
            continue
        for q in ("p50", "p99"):
            ours, theirs = 1e3 * summary["latency"][f"{key}_s"][q], speed * said[f"{key}_ms"][q]
            cells.append(f"{key} {q} {theirs:.2f} ({theirs - ours:+.2f})")
    rate = summary["throughput"]["requests_per_s"]
    delay = summary["live"]["written_s" if summary["live"]["written_s"]["n"] else "released_s"]
    print(f"{streams:5} {name:20} speed {speed:<5} n {summary['requests']['completed']}  " + "  ".join(cells) +
          f"  {said['requests_per_s'] / speed:.1f} requests/s ({100 * (said['requests_per_s'] / speed / rate - 1):+.2f} %)"
          f"  real ms: written late p50 {1e3 * delay['p50']:.2f} p99 {1e3 * delay['p99']:.1f}, host late p50 "
          f"{host['p50']:.2f} p99 {host['p99']:.1f} max {host['max']:.0f}", flush=True)


if __name__ == "__main__":
    print("simulated milliseconds as the tool reports them (less what the simulator says of the same requests)",
          "" if priority(1) else "; without real-time priority", sep="", flush=True)
    for count in STREAMS:
        if (CLIENTS / "bin/light").exists() and os.environ.get("TOOL", "") in "light":
            echo(count)
        for tool_name in commands(count, 1, OUT):
            if os.environ.get("TOOL", "") in tool_name:
                measure(tool_name, count)
