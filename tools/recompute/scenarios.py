"""Random scenarios over most of what the simulator does, as JSON, which is YAML too."""

import random

import features

ENGINES = ["decode-priority", "orca", "sarathi", "sglang", "static", "tensorrt-llm", "textbook", "vllm-v0", "vllm-v1"]
ROUTERS = ["round-robin", "least-loaded", "weighted", "random", "least-tokens", "least-kv", "power-of-two",
           "session-affinity", "prefix-aware", "kv-aware"]
GPUS = ["h100-sxm", "a100-sxm-80gb", "h200-sxm", "b200-sxm", "l40s"]
BATCH_LIMIT = {"orca": "max_batch_size", "static": "max_batch_size", "tensorrt-llm": "max_batch_size",
               "sglang": "max_running_requests"}
TOPOLOGIES = {"one": ["serve"], "pair": ["a", "b"], "disaggregated": ["prefill", "decode"],
              "encoded": ["encode", "prefill", "decode"], "beside": ["prefill", "decode", "serve"]}


def one_in(r, n):
    return r.random() < 1 / n


def law(r, mean):
    """The law of a length in tokens."""
    return r.choice([
        dict(distribution="fixed", mean=mean), dict(distribution="fixed", mean=1),
        dict(distribution="lognormal", mean=mean, cv=r.choice([.3, 1, 2])),
        dict(distribution="uniform", min=1, max=2 * mean), dict(distribution="normal", mean=mean, cv=.5),
        dict(distribution="gamma", mean=mean, cv=1.2),
    ])


def pool(r, name, topology, model):
    role = "serve" if topology in ("one", "pair") else name
    engine = r.choice(ENGINES if role == "serve" else ["vllm-v1", "sglang", "tensorrt-llm", "sarathi"])
    p = dict(name=name, role=role, gpu=r.choice(GPUS), engine=engine, replicas=r.randrange(1, 4),
             tensor_parallel=4 if model == "llama-3.1-70b" else r.choice([1, 2, 4]))
    if one_in(r, 5):
        p["replicas_max"] = 4
    if one_in(r, 10):
        p["pipeline_parallel"] = 2
    if one_in(r, 2):
        p[BATCH_LIMIT.get(engine, "max_num_seqs")] = r.choice([1, 2, 7, 16, 64])
    if engine == "vllm-v1":
        vllm(r, p)
    if one_in(r, 10):
        p.update(straggler_replicas=1, straggler_slowdown=1.7)
    if one_in(r, 10):
        p["cold_start_s"] = 3
    if role == "prefill":
        p.update(kv_transfer="pull" if topology == "encoded" else r.choice(["pull", "push"]),
                 first_token=r.choice(["prefill", "decode"]), kv_link="nic-400g")
    if role == "encode":
        p["kv_link"] = "nic-400g"
    return p


def vllm(r, p):
    if one_in(r, 3):
        p.update(num_gpu_blocks=r.choice([260, 400, 900]), max_model_len=4096)
    if one_in(r, 3):
        p["max_num_batched_tokens"] = r.choice([128, 512, 2048])
    for key, value in dict(async_scheduling=False, enforce_eager=True, enable_prefix_caching=False,
                           scheduling_policy="priority", kv_offloading_size=r.choice([1, 10])).items():
        if one_in(r, 5):
            p[key] = value


def fleet(r, s, names):
    """What happens to replicas in a run."""
    of = r.choice(names)
    in_flight = r.choice(["retry", "fail"])
    if one_in(r, 6):
        s["failures"] = [dict(pool=of, replica=0, at_s=3, down_s=2, in_flight=in_flight)]
    if one_in(r, 10):
        s["random_failures"] = [dict(pool=of, mtbf_s=10, mttr_s=2, in_flight=in_flight)]
    if one_in(r, 10):
        s["drain"] = [dict(pool=of, replica=0, at_s=2, down_s=3)]
    if one_in(r, 6):
        s["autoscale"] = [dict(pool=of, interval_s=1, stabilisation_s=2, provision_s=.5, **r.choice([
            dict(on="queue", target=2), dict(on="requests", target=8), dict(on="kv", target=.5),
            dict(on="schedule", schedule=[dict(at_s=1, replicas=2), dict(at_s=5, replicas=1)])]))]
    if one_in(r, 10):
        s["admission"] = dict(rate_per_s=20, burst=10, queue_limit=8)


def decoding(r, s):
    if one_in(r, 4):
        method, drafts = r.choice(["ngram", "medusa", "eagle", "draft"]), r.choice([1, 3, 5])
        s["speculation"] = dict(method=method, num_speculative_tokens=drafts, acceptance=r.choice([
            dict(process="iid", rate=r.choice([0, .5, .8, 1])),
            dict(process="per-position", rates=[.8, .6, .4, .3, .2][:drafts])]))
        if method == "draft":
            s["speculation"]["draft_model"] = "llama-3.2-1b"
        if one_in(r, 3):
            s["speculation"]["disable_above_batch"] = 8
    if one_in(r, 7):
        s["decoding"] = r.choice([dict(n=2), dict(beam_width=3), dict(sampling="top-p"), dict(sampling="top-k")])
    if one_in(r, 5):
        s["noise"] = dict(jitter=.1)


def workload(r):
    rate = r.choice([.5, 5, 30, 200])
    w = dict(prompt_tokens=law(r, r.choice([1, 50, 400, 1500])), output_tokens=law(r, r.choice([1, 2, 20, 100])),
             requests=r.choice([1, 2, 30, 150, 150, 300]))
    w.update(r.choice([
        dict(closed_loop=dict(concurrency=r.choice([1, 5, 40]), think_time_s=r.choice([0, 1]),
                              ramp_s=r.choice([0, 2]))),
        dict(arrivals=dict(process="gamma", cv=2, rate=rate)), dict(arrivals=dict(process="constant", rate=rate)),
        dict(arrivals=dict(process="sinusoid", rate=rate, amplitude=.8, period_s=5)),
        dict(arrivals=dict(process="poisson", rate=rate)),
    ]))
    if one_in(r, 5):
        w["sessions"] = dict(turns=dict(distribution="uniform", min=1, max=5),
                             think_time_s=dict(distribution="exponential", mean=1))
    elif one_in(r, 5):
        w["prefix"] = dict(groups=3, tokens=200)
    elif one_in(r, 6):
        w["distinct_prompts"] = 5
    for n, key, values in [(6, "timeout_s", [.05, 1, 5]), (10, "duration_s", [1, 4]), (6, "warmup_s", [1]),
                           (6, "max_tokens", [1, 50])]:
        if one_in(r, n):
            w[key] = r.choice(values)
    if one_in(r, 8):
        w["cancel"] = dict(probability=.4, after_s=.5)
    if one_in(r, 5):
        w["classes"] = [dict(name="x", share=.3, priority=0, slo=dict(ttft_ms=100)),
                        dict(name="y", share=.7, priority=2)]
    return w


def beside(r, s, topology):
    """What stands beside any deployment: precisions, ranks, tiers of the cache, thoughts, power."""
    if one_in(r, 4):
        s.update(weights=r.choice(["bf16", "fp8"]), kv_cache=r.choice(["bf16", "fp8"]))
    if topology == "one" and s["model"] == "gpt-oss-20b" and one_in(r, 2):
        s["pools"][0]["data_parallel"] = r.choice([2, 3])
    if {"kv_offloading_size", "hicache_size"} & set(s["pools"][0]) and one_in(r, 2):
        s["pools"][0]["kv_tiers"] = r.choice([
            dict(load_policy="fetch_or_recompute", nvme=dict(size_gib=16, read_bps=1.4e10, latency_s=1e-4)),
            dict(cluster=dict(size_gib=64, read_bps=2e11, link="nic-400g"))])
    if one_in(r, 5):
        s["workload"]["reasoning"] = dict(tokens=dict(distribution="uniform", min=5, max=60))
    if one_in(r, 5):
        s["energy"] = dict(idle=.2, pue=1.2, usd_per_kwh=.1)


def draw(r, i=0):
    """The i-th scenario and the files beside it: it has the i-th feature, in turn, and sometimes others."""
    forced = list(features.FEATURES)[i % len(features.FEATURES)]
    model = r.choice(["llama-3.1-8b"] * 4 + ["gpt-oss-20b", "qwen3-8b", "llama-3.1-70b"])
    if one_in(r, 5):
        forced = None
    topology = r.choice(features.FEATURES.get(forced) or
                        ["one"] * 3 + ["disaggregated"] * 2 + ["pair", "encoded", "beside"])
    names = TOPOLOGIES[topology]
    s = dict(name="drawn", model=model, seed=r.randrange(10 ** 6), router=r.choice(ROUTERS), workload=workload(r),
             pools=[pool(r, name, topology, model) for name in names])
    if one_in(r, 5):
        s["routing"] = dict(staleness_s=.5)
    fleet(r, s, names)
    decoding(r, s)
    if one_in(r, 4):
        s["stream"] = dict(stream_interval=r.choice([1, 4]), rtt_ms=r.choice([0, 20]), rtt_jitter_ms=r.choice([0, 5]),
                           detokenize_s=1e-5, frame_s=r.choice([0, 1e-5]))
    if one_in(r, 2):
        r.choice([features.limits, features.rules])(r, s, {})
    beside(r, s, topology)
    files = {}
    for feature, topologies in features.FEATURES.items():
        if topology in topologies and feature is not forced and one_in(r, 40):
            feature(r, s, files)
    if forced:
        forced(r, s, files)
    features.coherent(s)
    return s, files


def numbered(seed, i):
    return draw(random.Random(f"{seed}/{i}"), i)
