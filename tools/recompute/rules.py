"""What rules of an SLO say of rows, as docs/slo.md defines them: of the whole run, of its windows, and as alerts."""

import math
import re

UNITS = {"s": 1., "ms": 1e-3, "µs": 1e-6, "m": 60.}
UNSURE = .0025  # a latency is that of a bin of a histogram, and is not judged if it is nearer to its limit than this


class Rule:
    def __init__(self, text):
        self.text, self.share = text, None
        m = re.fullmatch(r"([\d.]+)% of requests: (.*)", text)
        if m:
            self.share, text = float(m[1]) / 100, m[2]
        self.terms = [self.term(t) for t in text.split(" and ")]
        self.metric, self.at = self.terms[0][:2]

    @staticmethod
    def term(text):
        m = re.fullmatch(r"(request itl|\w+)(?: (mean|max|p[\d.]+))? (<=|<|≤) ([\d.]+) ?(µs|ms|s|m)", text)
        metric = "tpot" if m[1] == "request itl" else m[1]
        return metric, m[2], m[3] == "<", float(m[4]) * UNITS[m[5]]

    def kept(self, row):
        """Whether a request that was completed keeps each term."""
        for metric, _, below, limit in self.terms:
            t = latency(row, metric)
            if t > limit * (1 + 1e-13) or below and t >= limit:
                return False
        return True

    def judge(self, values, missing):
        """The value and whether it is within the limit; None where that is not known."""
        n = len(values)
        if n + missing == 0:
            return None, None
        _, at, below, limit = self.terms[0]
        if at == "mean":
            value = math.fsum(values) / n if n else None
        elif at == "max":
            value = math.inf if missing else max(values)
        else:
            rank = max(1, math.ceil(float(at[1:]) / 100 * (n + missing) - 1e-9))
            value = sorted(values)[rank - 1] if rank <= n else math.inf
        if value is None or abs(value - limit) <= UNSURE * limit:
            return value, None
        return value, value < limit


def latency(row, metric):
    """Of a request that was completed; without a second token it has no time per token to miss."""
    if metric == "tpot":
        return row["tpot_s"] or 0
    if metric == "ttfo":
        if "ttfo_s" not in row:
            return row["ttft_s"]
        return math.inf if row["ttfo_s"] is None else row["ttfo_s"]
    return row[metric + "_s"]


def samples(rule, rows, gaps, tasks):
    """The latencies that a rule about a distribution is about, and how many more are longer than any limit."""
    metric = rule.metric
    if metric == "itl":
        return gaps, 0
    if metric == "task":
        ended = [t for t in tasks if t["outcome"] != "unfinished"]
        done = [t["task_s"] for t in ended if t["outcome"] == "completed"]
        return done, len(ended) - len(done)
    done = [r for r in rows if r["outcome"] == "completed"]
    if metric in ("ttft", "queue"):
        answered = [r for r in rows if r["ttft_s"] is not None]
        return [r[metric + "_s"] for r in answered], len(rows) - len(answered)
    if metric == "ttfo":
        seen = [r["ttfo_s"] for r in rows if r["ttfo_s"] is not None]
        return seen, len(rows) - len(seen)
    return [r[metric + "_s"] for r in done if r[metric + "_s"] is not None], len(rows) - len(done)


def share(rule, rows):
    good = sum(r["outcome"] == "completed" and rule.kept(r) for r in rows)
    return good / len(rows), good / len(rows) >= rule.share - 1e-12


def ps(seconds):
    return round(seconds * 1e12)


def instant(row, metric):
    """When a client has a latency, in picoseconds."""
    if metric in ("ttft", "queue"):
        return ps(row["arrival_s"]) + ps(row["ttft_s"])
    if metric == "ttfo":
        return ps(row["arrival_s"]) + ps(row["ttfo_s"])
    return ps(row["arrival_s"]) + ps(row["e2e_s"])


def in_windows(rule, rows, itls, tasks, width, n):
    """The samples of a rule in each of n windows: requests of a share, latencies otherwise."""
    found = [[] for _ in range(n)]
    if rule.metric == "itl" and not rule.share:
        for r, gaps in zip(rows, itls):
            at = ps(r["arrival_s"]) + ps(r["ttft_s"])
            for gap in gaps:
                at += ps(gap)
                found[at // width].append(gap)
    elif rule.metric == "task" and not rule.share:
        for t in tasks:
            found[(ps(t["begun_s"]) + ps(t["task_s"])) // width].append(t["task_s"])
    else:
        for r in rows:
            value = r if rule.share else r[rule.metric + "_s"]
            if value is not None:
                found[instant(r, "e2e" if rule.share else rule.metric) // width].append(value)
    return found


def judge_span(rule, found):
    """Whether a rule holds of the samples of some windows; None: there are none; "unsure": it is too near its limit."""
    if not found:
        return None
    if rule.share:
        return share(rule, found)[1]
    value, met = rule.judge(found, 0)
    return "unsure" if met is None else met


def broken(windows):
    """When an SLO was broken, of windows with from_s, to_s, waiting and slo_met."""
    spans, still = [], False
    for w in windows:
        met = w.get("slo_met")
        if met is None and w["waiting"] > 0:
            continue
        if met is None or met:
            still = False
        elif still:
            spans[-1]["to_s"] = w["to_s"]
        else:
            spans.append(dict(from_s=w["from_s"], to_s=w["to_s"]))
            still = True
    return spans


def fired(alert, rule, found, windows, width_s):
    """When an alert fired and was resolved; None where that hangs on a latency too near its limit."""
    over = math.ceil(alert["over_s"] / width_s - 1e-9)
    list_, since = [], math.inf
    for i, w in enumerate(windows):
        met = judge_span(rule, sum(found[max(0, i + 1 - over):i + 1], []))
        if met == "unsure":
            return None
        firing = list_ and list_[-1]["resolved_s"] is None
        if met is False:
            since = min(since, w["to_s"])
            if w["to_s"] - since >= alert["for_s"] - 1e-9 and not firing:
                list_.append(dict(at_s=w["to_s"], resolved_s=None))
        elif met or w["waiting"] == 0:
            since = math.inf
            if firing:
                list_[-1]["resolved_s"] = w["to_s"]
    return list_
