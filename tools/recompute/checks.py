"""What else of a summary follows from rows, tasks and gaps: rules of an SLO, windows, alerts, classes, tasks, money."""

import collections
import math

from rules import Rule, broken, fired, in_windows, instant, judge_span, latency, ps, samples, share
from run import BIN, NS, TOKENS, near, quantiles, require


def blocks(run):
    """The whole run and its classes: name, block of the summary, rows, tasks, and gaps if all are known."""
    tasks = [t for t in run.tasks if t["begun_s"] >= run.warmup]
    whole = ("", run.summary, run.measured, tasks, run.measured_itls())
    yield whole
    for c in run.summary.get("classes") or []:
        mine = [r["class"] == c["name"] for r in run.measured]
        itls = whole[4] and [g for g, m in zip(whole[4], mine) if m]
        yield c["name"] + " ", c, [r for r, m in zip(run.measured, mine) if m], None, itls


def check_rules(run, tally):
    """Each rule of the SLO, of all requests and of those of a class."""
    if not run.plain() or not run.whole():
        return
    for name, block, rows, tasks, itls in blocks(run):
        for v in block.get("slo_rules") or []:
            rule = Rule(v["rule"])
            if rule.metric == "task" and tasks is None or rule.metric == "itl" and itls is None:
                continue
            what = f"{name}{v['rule']}"
            if not rows or rule.metric == "task" and not rule.share and not any(samples(rule, rows, None, tasks)):
                require(v["met"] is None and v["value"] is None, f"{what}: judged by nothing: {v}")
                continue
            if rule.share:
                value, met = share(rule, rows)
                near(v["value"], value, what)
                require(v["met"] == met, f"{what}: met is {v['met']}, recomputed {met}")
            else:
                gaps = [g for r in itls for g in r] if rule.metric == "itl" else None
                value, met = rule.judge(*samples(rule, rows, gaps, tasks))
                if value is None or value == math.inf:
                    require(v["value"] is None, f"{what}: the summary has {v['value']}, recomputed {value}")
                else:
                    near(v["value"], value, what, BIN, 1.1 * NS)
                if met is not None:
                    require(v["met"] == met, f"{what}: met is {v['met']}, recomputed {met}")
            tally["rules"] += 1


def check_slo(run, tally):
    """The share of the requests that keep the limits of the SLO, and how many a second do."""
    if not run.plain() or not run.whole():
        return
    for name, block, rows, _, _ in blocks(run):
        slo = block.get("slo")
        if not slo:
            continue
        if not rows:
            require(slo["attainment"] is None and slo.get("unmeasured"), f"{name}an SLO without requests: {slo}")
            continue
        limits = {key: slo[key] for key in ("ttft_s", "tpot_s", "e2e_s", "queue_s", "ttfo_s") if key in slo}
        require(limits, f"{name}an SLO without limits: {slo}")
        kept = [r for r in rows if r["outcome"] == "completed" and
                all(latency(r, key[:-2]) <= limit * (1 + 1e-13) for key, limit in limits.items())]
        near(slo["attainment"], len(kept) / len(rows), name + "attainment")
        if not run.warmup and run.summary["duration_s"]:
            near(slo["goodput_per_s"], len(kept) / run.summary["duration_s"], name + "goodput")
        tally["attainments"] += 1


def check_classes(run, tally):
    """The classes are those of the rows, and sum to the whole."""
    classes = run.summary.get("classes")
    if not classes or not run.rows:
        return
    q = run.summary["requests"]
    for key in ("arrived", "completed", "rejected", "failed", "unfinished", "preemptions"):
        require(sum(c["requests"][key] for c in classes) == q[key], f"classes do not sum to {q[key]} {key}")
    if not run.whole():
        return
    for c in classes:
        rows = [r for r in run.rows if r["class"] == c["name"]]
        for outcome in ("completed", "rejected", "failed"):
            require(c["requests"][outcome] == sum(r["outcome"] == outcome for r in rows), f"{c['name']}: {outcome}")
        for column, key in TOKENS.items():
            near(c["tokens"][key], sum(r[column] for r in rows), f"{c['name']} {key}")
        tally["classes"] += 1


def check_tasks(run, tally):
    """Tasks of agents: how many ended how, how long they took, and what of."""
    t, rows = run.summary.get("tasks"), run.tasks
    if not t:
        return
    require(t["begun"] == t["completed"] + t["failed"] + t["full"] + t["unfinished"], f"tasks: {t}")
    count = collections.Counter(r["outcome"] for r in rows)
    for key in ("completed", "failed", "full"):
        require(count[key] == t[key], f"{key} tasks: {count[key]} rows, the summary has {t[key]}")
    done = [r for r in rows if r["outcome"] == "completed" and r["begun_s"] >= run.warmup]
    if "task_s" in run.summary["latency"] and run.plain():
        quantiles(run.summary["latency"]["task_s"], [r["task_s"] for r in done], "task_s", tally)
    for r in done:
        parts = r["waiting_s"] + r["prompts_s"] + r["generation_s"] + r["tools_s"]
        near(parts, r["task_s"], f"the parts of task {r['id']}", 1e-12, 1e-11)
    if done:
        for key, column in (("requests_mean", "requests"), ("agents_mean", "agents")):
            near(t[key], sum(r[column] for r in done) / len(done), key)
        for key, value in t["parts_mean_s"].items():
            near(value, math.fsum(r[key + "_s"] for r in done) / len(done), "tasks' " + key)
    if run.whole() and rows and not t["unfinished"]:
        for column, ours in (("requests", len(run.rows)), ("prompt_tokens", run.summary["tokens"]["prompt"]),
                             ("output_tokens", run.summary["tokens"]["output"])):
            require(sum(r[column] for r in rows) == ours, f"{column} of tasks do not sum to {ours}")
    tally["tasks"] += len(rows)


def check_thoughts(run, tally):
    """The first token that is no reasoning."""
    q = run.summary["latency"].get("ttfo_s")
    if q is None or not run.rows or not run.plain() or not run.whole():
        return
    for r in run.rows:
        require(r["reasoning_tokens"] <= r["output_tokens"], f"more thought than said: {r}")
        if r["ttfo_s"] is not None:
            require(r["ttfo_s"] >= r["ttft_s"] and r["output_tokens"] > r["reasoning_tokens"], f"TTFO before TTFT: {r}")
    quantiles(q, [r["ttfo_s"] for r in run.measured if r["ttfo_s"] is not None], "ttfo_s", tally)


def check_load(run, tally):
    """What was offered and served while requests arrived, and what each request met."""
    s, q = run.summary, run.summary["requests"]
    if not run.rows or not run.whole():
        return
    require(sum(r["preemptions"] for r in run.rows) == q["preemptions"], "preemptions of rows and the summary")
    require(q.get("refused", 0) <= q["rejected"], f"more are refused than rejected: {q}")
    times = [r["arrival_s"] for r in run.rows]
    span = max(times) - min(times)
    if span and "arrivals" in run.work and not run.scenario.get("decoding", {}).get("n"):
        near(s["load"]["offered_per_s"], (len(times) - 1) / span, "offered", 1e-9)
        if run.plain() and q["completed"] == q["arrived"]:  # the engine has ended a request before its client has it
            last = max(times)
            low, high = sum(r["arrival_s"] + r["e2e_s"] < last for r in run.rows), sum(t < last for t in times)
            served = s["load"]["served_per_s"] * span
            require(low - 1e-6 <= served <= high + 1e-6, f"served: {served} in {span} s, recomputed {low} to {high}")
        tally["loads"] += 1
    if s["duration_s"] and not run.warmup:
        near(s["throughput"]["output_tokens_per_s"], s["tokens"]["output"] / s["duration_s"], "tokens/s")


def check_money(run, tally):
    """Rent, electricity and carbon are rates times the tokens and the time of the run."""
    s = run.summary
    rate, cost, energy = s["throughput"]["output_tokens_per_s"], s.get("cost"), s.get("energy")
    if cost and rate:
        near(cost["usd_per_million_output_tokens"], cost["usd_per_hour"] / 3600 * 1e6 / rate, "rent of tokens", 1e-9)
        require(0 <= cost["idle_usd_per_hour"] <= cost["usd_per_hour"] * (1 + 1e-9), f"idle rent: {cost}")
        tally["rents"] += 1
    if energy and energy["mean_w"]:  # both are of all of the run, from its instant 0 on
        near(sum(energy["kwh_by_phase"].values()), energy["kwh"], "energy by phase", 1e-9)
        span = energy["kwh"] * 3.6e6 / energy["mean_w"]
        require(span >= s["duration_s"] * (1 - 1e-9) - .5, f"{span} s of energy in a run of {s['duration_s']} s")
        if cost and "split" in cost:
            c = cost["split"]
            both = (c["usd_per_million_input_tokens"] * s["tokens"]["prompt"] +
                    c["usd_per_million_output_tokens"] * s["tokens"]["output"])
            near(both, 1e6 * cost["usd_per_hour"] / 3600 * span, "rent of prompts and outputs", 1e-9)
        if s["tokens"]["output"]:
            near(energy["j_per_output_token"], energy["kwh"] * 3.6e6 / s["tokens"]["output"], "energy of a token", 1e-9)
        if s["requests"]["completed"]:
            each = energy["kwh"] * 3.6e6 / s["requests"]["completed"]
            near(energy["j_per_request"], each, "energy of a request", 1e-9)
        asked = run.scenario["energy"]
        if "grid_gco2_per_kwh" in asked:
            near(energy["gco2"], energy["kwh"] * asked["grid_gco2_per_kwh"], "carbon", 1e-9)
        if "usd_per_kwh" in asked:
            near(energy["usd_per_hour"], energy["mean_w"] / 1e3 * asked["usd_per_kwh"], "electricity", 1e-9)
        tally["energies"] += 1


def check_adapters(run, tally):
    """A pool with adapters finds no more of them in slots than requests came, and copies no more than it needs."""
    for p in run.summary["pools"]:
        a = p.get("adapters")
        if not a:
            continue
        require(0 <= a["hit_rate"] <= 1 and 0 <= a["waited_share"] <= 1 and 0 <= a["copy_share"] <= 1, f"a share: {a}")
        require(a.get("reads", 0) <= a["copies"], f"more adapters are read than copied: {a}")
        if run.whole() and run.rows and len(run.summary["pools"]) == 1 and not run.failing():
            admitted = sum(r["queue_s"] is not None for r in run.rows)
            require(a["requests"] <= admitted + run.summary["requests"]["preemptions"], f"{admitted} admitted: {a}")
        tally["adapters"] += a["requests"]


def check_pools(run, tally):
    """What pools count sums to what the summary does, and replicas that are reserved are paid."""
    s, pools = run.summary, run.summary["pools"]
    require(sum(p.get("preemptions", 0) for p in pools) == s["requests"]["preemptions"], "preemptions of pools")
    asked = run.scenario["pools"]
    reserved = sum(p["gpus"] / p["replicas"] * a["reserved_replicas"] * a["reserved_price_per_hour"]
                   for p, a in zip(pools, asked) if "reserved_replicas" in a and p["replicas"])
    if reserved and s.get("cost"):
        near(s["cost"].get("reserved_usd_per_hour", 0), reserved, "rent of reserved replicas")
    waited = s["latency"].get("unanswered_s")
    if run.rows and run.whole():
        lost = sum(r["outcome"] == "failed" and r["output_tokens"] == 0 for r in run.measured)
        require((waited["n"] if waited else 0) == lost, f"unanswered: {waited}, recomputed {lost}")
    for p in pools:
        if "speculation" in p and p["speculation"]["drafted"]:
            require(p["speculation"]["accepted"] <= p["speculation"]["drafted"], f"more accepted than drafted: {p}")
        tally["pools"] += 1


def check_timeline(run, tally):
    """timeline.csv has the windows of the summary, and those of classes sum to them."""
    o = run.summary.get("over_time")
    if not o:
        return
    rows = run.table("timeline.csv")
    require(len(rows) == len(o["windows"]), f"{len(rows)} rows of {len(o['windows'])} windows")
    each = collections.Counter()
    for r in run.table("timeline_classes.csv"):
        for key in ("arrived", "completed", "unserved", "waiting"):
            each[float(r["from_s"]), key] += int(r[key] or 0)
    for r, w in zip(rows, o["windows"]):
        for key in ("from_s", "to_s", "arrived", "completed", "waiting"):
            near(float(r[key]), w[key], "timeline.csv " + key)
        for key in ("n", "p50", "p90", "p95", "p99"):
            got = r["ttft_n" if key == "n" else f"ttft_{key}_s"]
            require((float(got) if got else None) == w["ttft_s"][key], f"timeline.csv ttft {key}: {got}, {w}")
        if each and r["from_s"]:
            for key in ("arrived", "completed", "waiting"):
                got = each[float(r["from_s"]), key]
                require(got == w[key], f"{key} of classes from {r['from_s']} s: {got}, of all {w[key]}")
        tally["timeline"] += 1


def check_windows(run, tally):
    """Windows of time and alerts, of runs all of whose requests were completed."""
    o, q = run.summary.get("over_time"), run.summary["requests"]
    if not o or not run.rows or not run.plain() or not run.whole() or q["completed"] != q["arrived"]:
        return
    width, windows, n = ps(o["width_s"]), o["windows"], len(o["windows"])
    came = collections.Counter(ps(r["arrival_s"]) // width for r in run.rows)
    answered = collections.Counter(instant(r, "ttft") // width for r in run.rows)
    ended = collections.Counter(instant(r, "e2e") // width for r in run.measured)
    firsts, waiting = [[] for _ in range(n)], 0
    for r in run.measured:
        firsts[instant(r, "ttft") // width].append(r["ttft_s"])
    for i, w in enumerate(windows):
        what = f"the window from {w['from_s']} s: "
        waiting += came[i] - answered[i]
        got, want = (w["arrived"], w["completed"], w["waiting"]), (came[i], ended[i], waiting)
        require(got == want, f"{what}{got}, recomputed {want}")
        quantiles(w["ttft_s"], firsts[i], what + "TTFT", tally)
        tally["windows"] += 1
    check_verdicts(run, o, windows, width, n, tally)


def check_verdicts(run, o, windows, width, n, tally):
    """Rules of the SLO by window, when it was broken, and alerts."""
    itls, tasks = run.measured_itls(), [t for t in run.tasks if t["begun_s"] >= run.warmup]
    limits = run.summary.get("slo")
    whole_rules = [Rule(v["rule"]) for v in run.summary.get("slo_rules") or []]
    if limits and limits_asked(run.scenario):
        terms = " and ".join(f"{k[:-2]} <= {limits[k]!r}s" for k in ("ttft_s", "tpot_s", "e2e_s", "queue_s", "ttfo_s")
                             if k in limits)
        asked = run.scenario["slo"].get("attainment", .9)
        whole_rules.append(Rule(f"{100 * asked!r}% of requests: {terms}"))
    if any(r.metric == "itl" and not r.share for r in whole_rules) and itls is None:
        return
    if any(t["task_s"] is None for t in tasks):  # it ended without a result, and nothing says when
        return
    of = {r.text: in_windows(r, run.measured, itls, tasks, width, n) for r in whole_rules}
    for i, w in enumerate(windows):
        each = [judge_span(r, of[r.text][i]) for r in whole_rules]
        each = [e for e in each if e is not None]
        if "unsure" in each:
            continue
        want = all(each) if each else None
        got = w.get("slo_met")
        require(got == want, f"the window from {w['from_s']} s: SLO met {got}, recomputed {want}")
        tally["verdicts"] += 1
    got, want = o.get("slo_broken") or [], broken(windows)
    require(got == want, f"broken: {got}, recomputed {want}")
    for a in o.get("alerts") or []:
        rule = Rule(a["rule"])
        if rule.metric == "itl" and not rule.share and itls is None:
            continue
        found = in_windows(rule, run.measured, itls, tasks, width, n)
        want = fired(a, rule, found, windows, o["width_s"])
        if want is not None:
            require((a["fired"] or []) == want, f"alert {a['rule']}: {a['fired']}, recomputed {want}")
            tally["alerts"] += 1


def limits_asked(scenario):
    slo = scenario.get("slo")
    return isinstance(slo, dict) and any(k in slo for k in ("ttft_ms", "tpot_ms", "e2e_ms"))


CHECKS = [check_rules, check_slo, check_classes, check_tasks, check_thoughts, check_load, check_money, check_adapters,
          check_pools, check_timeline, check_windows]
