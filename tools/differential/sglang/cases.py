"""Random cases for both sides. Sizes are small: what goes wrong goes wrong with few requests, and can be read."""

KINDS = ["plain", "chunks", "whole", "mixed", "retraction", "mixed-retraction", "ignore-eos", "eos", "prefix-ample", "prefix",
         "lpm", "dfs-weight", "everything", "random", "random-priority", "random-preemption", "random-ranks", "pd", "pd-few", "pd-blocks", "pd-retraction", "pd-eos"]


def ceil(a, b):
    return -(-a // b)


def draw(rnd, kind, overlap):
    if kind.startswith("random"):
        return anything(rnd, kind, overlap)
    one = rnd.choice
    c = dict(kind=kind, overlap=overlap, radix=kind in ("ignore-eos", "prefix-ample", "prefix", "lpm", "dfs-weight", "everything"), mixed=False,
             policy="fcfs", conservativeness=1.0, ignore_eos=False, contents=[], step_ns=10_000_000,
             token_ns=one([0, 10_000, 100_000]), page_size=one([1, 1, 4, 16]))
    n, prompt, output = rnd.randint(2, 60), one([20, 60, 300]), one([5, 30, 100])
    c["max_running_requests"] = one([2, 4, 16, 64])
    if kind.endswith("retraction"):
        prompt, output, c["max_running_requests"] = one([5, 20, 60]), one([100, 200]), one([16, 64])
    c["max_prefill_tokens"] = one([64, 512, 2048])
    c["chunked_prefill_size"] = max(c["page_size"], one([16, 64, 512, 2048]))
    longest = 2 * prompt + output
    if kind in ("eos", "everything"):
        longest += 48
    c["context"] = longest + 8
    need = ceil(c["context"], c["page_size"]) + 2
    c["num_pages"] = need * 64
    if kind == "chunks":
        c["chunked_prefill_size"] = max(c["page_size"], one([8, 16, 32]))
    if kind == "whole":
        c["chunked_prefill_size"] = None
    if kind in ("mixed", "mixed-retraction"):
        c["mixed"], c["chunked_prefill_size"] = True, c["chunked_prefill_size"] + c["max_running_requests"]
    if kind in ("retraction", "mixed-retraction", "prefix", "lpm", "dfs-weight", "everything"):
        c["num_pages"] = int(need * one([1, 1.2, 1.5, 2, 3]))
        c["conservativeness"] = one([0.02, 0.1, 0.3, 1.0])
    if kind == "ignore-eos":
        c["ignore_eos"], c["num_pages"] = True, int(need * one([1, 1.5, 2, 4]))
    if kind in ("lpm", "dfs-weight"):
        c["policy"] = kind
    if kind == "everything":
        c["policy"], c["mixed"] = one(["fcfs", "lpm"]), one([False, True])
        c["chunked_prefill_size"] = one([None, c["chunked_prefill_size"]])
        c["mixed"] = c["mixed"] and c["chunked_prefill_size"] is not None
    if c["radix"] and kind != "ignore-eos":
        for _ in range(rnd.randint(1, 6)):
            parent = rnd.randint(0, len(c["contents"])) if rnd.random() < 0.6 else 0
            c["contents"].append([parent, rnd.randint(1, prompt)])
    if kind.startswith("pd"):
        decode_side(rnd, c, kind, prompt, output)
    c["requests"] = requests(rnd, c, kind, n, prompt, output)
    return c


def anything(rnd, kind, overlap):
    """A case of settings that are drawn one by one, whatever they make of each other."""
    one, upto = rnd.choice, lambda n: int(n ** rnd.random()) or 1
    page, radix = one([1, 1, 2, 5, 16, 64]), rnd.random() < 0.6
    prompt, output = (upto(200), upto(60)) if kind == "random-preemption" else (upto(500), upto(200))
    c = dict(kind=kind, overlap=overlap, radix=radix, mixed=rnd.random() < 0.4, policy=one(["fcfs", "lpm", "dfs-weight"] if radix else ["fcfs"]),
             conservativeness=one([0.02, 0.1, 0.3, 0.5, 1.0, 1.3]), ignore_eos=radix and rnd.random() < 0.15, contents=[], step_ns=10_000_000,
             token_ns=one([0, 10_000, 100_000]), page_size=page, max_running_requests=upto(100), max_prefill_tokens=upto(4000),
             chunked_prefill_size=one([None, max(page, upto(3000)), max(page, upto(200))]), context=2 * prompt + output + 64)
    c["mixed"] = c["mixed"] and c["chunked_prefill_size"] is not None
    if c["mixed"]:  # decodes ride along within the chunk
        c["chunked_prefill_size"] += c["max_running_requests"]
    c["num_pages"] = int((ceil(c["context"], page) + 2) * (1 + 4 * rnd.random() ** 2))
    if radix:
        for _ in range(rnd.randint(0, 12)):
            parent = rnd.randint(0, len(c["contents"])) if rnd.random() < 0.6 else 0
            c["contents"].append([parent, rnd.randint(1, prompt)])
    c["requests"] = requests(rnd, c, kind, rnd.randint(2, 80), prompt, output)
    if not c["ignore_eos"] and rnd.random() < 0.4:
        for r in c["requests"]:
            if rnd.random() < 0.7:
                r["max_output"] = r["output"] + rnd.randint(1, 50)
    if kind == "random-ranks":
        c["ranks"] = one([2, 3, 8])
    if kind == "random-preemption":
        c["max_running_requests"], c["preemption_threshold"] = one([1, 2, 4, 16]), one([0, 10, 10, 21])
    if kind in ("random-priority", "random-preemption"):
        c["policy"], c["retraction_policy"] = "priority", one(["length", "priority"])
        for r in c["requests"]:
            r["priority"] = rnd.randint(0, 3) * (11 if kind == "random-preemption" else 1)
    return c


def decode_side(rnd, c, kind, prompt, output):
    """Makes c a case of a decode worker: caches come to it."""
    one = rnd.choice
    few = one([1, 2, 4])
    c["max_running_requests"] = few if kind == "pd-few" else one([8, 64])
    c["pd"] = dict(latency_ns=one([1_000_000, 37_000_000, 300_000_001]), token_ns=one([0, 13_000, 500_000]),
                   reserved=one([4, 16, 64]), extra_slots=2 * few if kind == "pd-few" and rnd.random() < 0.5 else 0)
    if kind == "pd-eos":
        c["context"] += 48
    need = ceil(c["context"] + c["pd"]["reserved"], c["page_size"]) + 2
    c["num_pages"] = need * 64
    if kind in ("pd-blocks", "pd-retraction"):
        c["num_pages"] = int(need * one([1, 1.5, 2, 3]))
    if kind == "pd-blocks":
        c["pd"]["reserved"] = output
        c["num_pages"] += ceil(output, c["page_size"])
    if kind == "pd-retraction":
        c["pd"]["reserved"] = one([1, 2, 4])


def requests(rnd, c, kind, n, prompt, output):
    rate = rnd.choice([1, 5, 20] if kind == "random-preemption" else [0.2, 1, 5]) / (output * 0.010)
    t, burst, list = 0.0, rnd.random() < 0.2, []
    for i in range(n):
        t += 0 if burst else rnd.expovariate(rate * min(c["max_running_requests"], 8))
        r = dict(id=i, arrival=0 if burst else int(t * 1e9) // 1000 * 1000 + i + 1, prompt=rnd.randint(1, 2 * prompt),
                 output=rnd.randint(1, output))
        if c["contents"] and rnd.random() < 0.8:
            r["content"] = rnd.randint(1, len(c["contents"]))
        if kind in ("eos", "pd-eos") or kind == "everything" and rnd.random() < 0.5:
            r["max_output"] = r["output"] + rnd.choice([1, 2, 3] if kind == "everything" else [1, 5, 40])
        list.append(r)
    return list
