"""The three sessions of docs/live.md, run again as the page has them, beside what the page shows.

python sessions.py BINARY CLIENTS OUT [NAMES...]

It reads the commands from the page, so that a command that no longer works ends it with an error. What is measured is
not the same twice: of each session the statement that the page makes of it is checked, within what is said below. A
session whose tools are not installed is said to be left out.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

BINARY, CLIENTS, OUT = (Path(p).resolve() for p in sys.argv[1:4])
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = (ROOT / "docs/live.md").read_text()
failures = []


def commands(heading):
    """The commands of the blocks under a heading; lines of output and of loops stay with the command before them."""
    section = re.split(r"^## ", PAGE, flags=re.M)
    text = next(s for s in section if s.startswith(heading))
    found = []
    for block in re.findall(r"```text\n(.*?)```", text, flags=re.S):
        found += ["$ " + c for c in block.split("$ ")[1:]] if block.startswith("$ ") else []
    return [c[2:] for c in found]


def command(text):
    """A command without the output that the page shows below it."""
    lines, kept = text.splitlines(), []
    for line in lines:
        kept.append(line)
        if not line.endswith("\\") and not (kept[0].startswith("while") and "done" not in line):
            break
    return "\n".join(kept)


def expect(truth, what):
    print(("as the page says: " if truth else "NOT as the page says: ") + what, flush=True)
    if not truth:
        failures.append(what)


def ask(url, model, text, most):
    """Whether a chat is answered."""
    body = json.dumps({"model": model, "max_tokens": most, "messages": [{"role": "user", "content": text}]})
    r = urllib.request.Request(url + "/v1/chat/completions", body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=300) as answer:
        return answer.status == 200 and b"choices" in answer.read()


def answers(url):
    """Whether a URL is served, and well."""
    try:
        urllib.request.urlopen(url, timeout=1)
        return True
    except OSError:
        return False


running = []  # what sessions have started and not ended


class Shell:
    """What a reader of the page has: the program and the tools in the PATH, in a directory of their own."""

    def __init__(self, name):
        self.dir = OUT / name
        self.dir.mkdir(parents=True)
        (self.dir / "tools").symlink_to(ROOT / "tools")
        (self.dir / "tokenizer").symlink_to(CLIENTS / "tokenizer")
        (self.dir / "bin").mkdir()
        (self.dir / "bin/decodesim").symlink_to(BINARY)
        bench = self.dir / "bin/vllm"  # without what needs a GPU
        bench.write_text(f'#!/bin/sh\nshift 2\nexec {CLIENTS}/python/bin/python {HERE}/vllm_bench.py "$@"\n')
        bench.chmod(0o755)
        path = [self.dir / "bin", CLIENTS / "gateway/bin", CLIENTS / "guidellm/bin", os.environ["PATH"]]
        self.env = os.environ | {"PATH": ":".join(map(str, path))}
        self.started = []

    def start(self, text, ready):
        if answers(ready):
            raise SystemExit(f"{ready} answers already: what is tried would not be {text.split()[0]}")
        log = open(self.dir / f"{len(self.started)}.txt", "w")
        p = subprocess.Popen(["bash", "-c", "exec " + text], cwd=self.dir, env=self.env, stdout=log, stderr=log,
                             start_new_session=True)
        self.started.append(p)
        running.append(p)
        for _ in range(1200):
            if p.poll() is not None:
                raise SystemExit(f"{text.split()[0]} has ended with {p.returncode}: see {log.name}")
            if answers(ready):
                return p
            time.sleep(.05)
        raise SystemExit(f"{text.split()[0]} does not answer: see {log.name}")

    def run(self, text, check=True):
        p = subprocess.run(["bash", "-c", text], cwd=self.dir, env=self.env, capture_output=True, text=True,
                           timeout=900)
        (self.dir / f"{text.split()[0]}.out").write_text(p.stdout + p.stderr)
        if check and p.returncode:
            raise SystemExit(f"{text}\nended with {p.returncode}:\n{p.stderr[-2000:]}")
        return p.stdout

    def end(self):
        for p in reversed(self.started):
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(60)
            except subprocess.TimeoutExpired:
                p.kill()
        self.started.clear()


def load():
    """The errors of validate, of which the page says that they are within about a percent."""
    serve, tool, validate = (command(c) for c in commands("A load test"))
    sh = Shell("load")
    sh.start(serve, "http://127.0.0.1:8200/health")
    sh.run(tool)
    sh.end()
    said = sh.run(validate)
    print(said)
    rows = re.findall(r"^(\S+ \S+|\S+)\s+1\s+0\s+([\d.]+) %", said, flags=re.M)
    most = {n: 3 if n.startswith("TTFT") or n.endswith("max") else 1 for n, _ in rows}  # what a busy machine adds
    expect(len(rows) >= 6 and all(float(e) <= most[n] for n, e in rows), "validate predicts what the tool says, TTFT " +
           "and maxima within 3 %, all else within 1 %: " + ", ".join(f"{n} {e} %" for n, e in rows))


def autoscaler():
    """The queue empties once as many replicas as the loop wants have started, and they go when nobody asks."""
    serve, loop = (command(c) for c in commands("An autoscaler"))
    sh = Shell("autoscaler")
    sh.start(serve, "http://127.0.0.1:8400/health")
    left = list(range(240))

    def client():
        while left:
            left.pop()
            ask("http://127.0.0.1:8400", "llama-3.1-8b", f"question {len(left)}", 400)

    clients = [threading.Thread(target=client) for _ in range(48)]
    for c in clients:
        c.start()
    (sh.dir / "loop.sh").write_text(loop)
    said = sh.run("timeout 30 bash loop.sh", check=False)
    for c in clients:
        c.join()
    sh.end()
    print(said)
    rows = [tuple(map(int, r)) for r in re.findall(r"running (\d+) waiting (\d+): (\d) replicas", said)]
    expect(bool(rows) and rows[0][1] > 0 and rows[0][2] == 3,
           f"at first many wait, and three replicas are wanted: {rows[:1]}")
    empty = next((i for i, r in enumerate(rows) if r[1] <= 1), None)
    expect(empty is not None and 2 <= empty <= 4, f"the queue is empty some 7 s after the first look: {empty} looks")
    expect(bool(rows) and rows[-1][2] == 1, "one replica is wanted at last")
    again = json.loads(sh.run("decodesim run autoscaled/scenario.yaml --json"))
    live = json.loads((sh.dir / "autoscaled/summary.json").read_text())
    expect(again["latency"] == live["latency"] and again["requests"] == live["requests"],
           "run replays the commands with the requests, to the same latencies")


def gateway():
    """Prompts that begin alike find each other's cache by the gateway's second policy, which avoids what has failed."""
    serve, router, bench, fleet = (command(c) for c in commands("A gateway"))
    share = {}
    for policy in ("round_robin", "cache_aware"):
        sh = Shell(f"gateway-{policy}")
        sh.start(serve, "http://127.0.0.1:8500/health")
        sh.start(router.replace("round_robin", policy), "http://127.0.0.1:8510/health")
        sh.run(bench)
        rows = [tuple(map(int, r.split())) for r in sh.run(fleet).splitlines()]
        share[policy] = sum(r[2] for r in rows) / sum(r[1] for r in rows)
        print(policy, rows, f"{share[policy]:.1%}", flush=True)
        sh.run("""curl -sf localhost:8500/fleet -d '{"do": "fail", "replica": 2}'""")
        time.sleep(.5)
        answered = 0
        for i in range(8):
            answered += ask("http://127.0.0.1:8510", "chat-8b", f"hi {i}", 4)
        expect(answered == 8, f"when replica 2 has failed, {answered} of 8 requests are answered ({policy})")
        sh.end()
    expect(abs(share["round_robin"] - .27) < .08 and abs(share["cache_aware"] - .85) < .08,
           f"27 % and 85 % of prompt tokens are cached: {share['round_robin']:.0%} and {share['cache_aware']:.0%}")


SESSIONS = {"load": (load, ["guidellm/bin/guidellm", "tokenizer"]), "autoscaler": (autoscaler, []),
            "gateway": (gateway, ["gateway/bin/python", "python/bin/python", "tokenizer"])}

if __name__ == "__main__":
    for name in sys.argv[4:] or SESSIONS:
        do, needs = SESSIONS[name]
        missing = [n for n in needs if not (CLIENTS / n).exists()]
        if name == "gateway" and "VLLM_SOURCE" not in os.environ:
            missing.append("VLLM_SOURCE")
        print(f"== {name}" + (f": left out, without {', '.join(missing)}" if missing else ""), flush=True)
        try:
            if not missing:
                do()
        finally:
            for p in running:
                if p.poll() is None:
                    p.terminate()
    sys.exit(1 if failures else 0)
