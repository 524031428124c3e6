"""What a scenario may have beside its fleet and its load: each feature gives a scenario a coherent use of some keys.

A feature takes the random source, the scenario and the files that stand beside it, and may change all of it.
"""

import json

ONE = ["one"]
ANY = ["one", "one", "pair", "disaggregated"]
SPLIT = ["disaggregated"]


def some(r, share, **values):
    """A random part of the values, of which a list is one to choose from."""
    return {k: r.choice(v) if isinstance(v, list) else v for k, v in values.items() if r.random() < share}


def fixed(n):
    return dict(distribution="fixed", mean=n)


def engine(r, s, name, **arguments):
    """The first pool has that engine, some of its arguments, and a cache that is not too small for them."""
    p = s["pools"][0]
    keep = ("name", "role", "gpu", "replicas", "replicas_max", "tensor_parallel", "cold_start_s")
    s["pools"][0] = {**{k: p[k] for k in keep if k in p}, "engine": name, **arguments}
    return s["pools"][0]


COMMON = dict(gpu_memory_utilization=[.8, .85], attention=["flash", "materialized", "flash-per-head"],
              cudagraph_capture_sizes=[[1, 8, 64], [4]], block_size=[16, 32])


def vllm(r, s, files):
    engine(r, s, "vllm-v1", version=r.choice(["0.22", "0.33"]), **some(
        r, .4, performance_mode=["throughput", "interactivity", "balanced"],
        long_prefill_token_threshold=[64, 300], scheduler_reserve_full_isl=[True, False], host_link_bps=2e10,
        watermark=[0, .05], hybrid_kv=[True, False], preemption_victim=["tail", "last-in-order"],
        max_num_seqs=[4, 16], **COMMON))
    if r.random() < .3:
        s["pools"][0].update(enable_chunked_prefill=False, max_model_len=8192, max_num_batched_tokens=8192)


def vllm_v0(r, s, files):
    p = engine(r, s, "vllm-v0", **some(r, .4, watermark=[.01, .05], max_num_seqs=[4, 64], **COMMON))
    if r.random() < .7:
        p.update(preemption_mode="swap", swap_space=r.choice([1, 4]), host_link_bps=2e10, num_gpu_blocks=400,
                 max_model_len=4096, preemption_victim=r.choice(["tail", "last-in-order"]), block_size=16)


def sglang(r, s, files):
    p = engine(r, s, "sglang", **some(
        r, .4, max_prefill_tokens=[4096, 16384], enable_mixed_chunk=[True, False], scheduler_recv_interval=[1, 8],
        schedule_conservativeness=[.3, 1, 2], page_size=[1, 16], hybrid_kv=[True, False],
        schedule_policy=["lpm", "dfs-weight", "fcfs"]))
    p["retraction_policy"] = r.choice(["length", "priority"])
    p["disable_priority_preemption"] = r.choice([False, True])
    p["priority_scheduling_preemption_threshold"] = r.choice([0, 10])
    if p["retraction_policy"] == "priority":
        p["schedule_policy"] = "priority"


def tensorrt(r, s, files):
    p = engine(r, s, "tensorrt-llm", **some(
        r, .5, capacity_scheduler_policy=["GUARANTEED_NO_EVICT", "MAX_UTILIZATION"],
        free_gpu_memory_fraction=.7, hybrid_kv=[True, False], tokens_per_block=[16, 64]))
    p.update(r.choice([dict(batch_wait_timeout_iters=4), dict(enable_chunked_prefill=True)]))


def orca(r, s, files):
    engine(r, s, "orca", reserve=r.choice(["as-computed", "prompt", "max-tokens", "max-model-len"]),
           max_model_len=8192, preemption_victim=r.choice(["tail", "last-in-order"]))


def decode_priority(r, s, files):
    engine(r, s, "decode-priority", prefill_below=r.choice([1, 8, 64]), **some(r, .4, **COMMON))


def orders(r, s, files):
    p = engine(r, s, r.choice(["vllm-v1", "vllm-v0", "sglang", "tensorrt-llm", "sarathi", "static"]),
               queue_order=r.choice(["priority", "shortest-job", "shortest-predicted-job", "earliest-deadline",
                                     "least-laxity", "aging", "aging"]))
    if p["queue_order"] == "aging":
        p["aging_s"] = 2
    if p["queue_order"] == "shortest-predicted-job":
        p["prediction_cv"] = .5
    if p["queue_order"] in ("earliest-deadline", "least-laxity"):
        s["slo"] = dict(ttft_ms=300, tpot_ms=25)


def experts(r, s, files):
    """An MoE model, whose ranks share the experts."""
    s["model"] = "gpt-oss-20b"
    s.pop("weights", None)
    p = engine(r, s, r.choice(["vllm-v1", "sglang"]), gpu="h100-sxm", data_parallel=r.choice([2, 4, 8]),
               expert_parallel=True, tensor_parallel=1)
    p.update(some(r, .6, expert_skew=[0, .5, 1.5], all_to_all=["low-latency", "normal", "all-gather", "one-sided"]))
    if r.random() < .5:
        p.update(enable_eplb=True, num_redundant_experts=p["data_parallel"] * r.choice([1, 2]))
        p.setdefault("expert_skew", .5)
    if p.get("all_to_all") in ("low-latency", "normal"):
        p.update(some(r, .7, batch_overlap=["single-batch", "two-batch"]))
    if p["engine"] == "vllm-v1":
        p["load_balance_method"] = r.choice(["vllm", "session_affinity"])
    else:
        p["load_balance_method"] = r.choice(["round_robin", "total_requests", "total_tokens"])


def devices(r, s, files):
    """A GPU that is not as the catalog has it."""
    flops = dict(fp32=6e13, tf32=4e14, bf16=9e14, fp8=1.9e15, int8=1.9e15, fp4=4e15, int4=1e15)
    s["pools"][0]["gpu"] = {"from": "h100-sxm", **some(
        r, .7, memory_bytes=9e10, bandwidth_bps=[2e12, 4e12], scale_up_bps=[2e11, 9e11], domain=[8, 16], pcie_bps=3e10,
        nic_bps=2.5e10, tdp_w=500, price_per_hour=3.3)}
    if r.random() < .7:
        s["pools"][0]["gpu"]["flops"] = {"bf16": 9e14, **some(r, .6, **flops)}


EFFICIENCY = dict(
    bandwidth=.7, compute=.6, moe_compute=.5, moe_rows=8, moe_tile_rows=16, quantized_compute=.6, kv_bandwidth=.6,
    mixed_kv=1.5, attention_compute=.4, latent_compute=.4, link=.5, moe_copy_bytes=4, expert_imbalance=.5,
    expert_skew=.3, collective_scale=1.1, layer_s=2e-6, moe_layer_s=3e-6, quantized_layer_s=2e-6, mixer_layer_s=2e-6,
    prompt_layer_s=3e-6, prompt_launch=1.5, launch_overlap=2, eager_launch=1.2, rank_s=1e-4, eager_layer_s=2e-5,
    step_s=1e-3, sequence_host_s=1e-5, sequence_s=1e-6, collective_s=3e-6, first_token_s=4e-3, tokenize_s=2e-6,
    overlap=4)


def efficiencies(r, s, files):
    s["pools"][0]["efficiency"] = {"base": r.choice(["vllm", "sglang", "textbook"]), **some(r, .4, **EFFICIENCY)}


def collectives(r, s, files):
    s["pools"][0].update(tensor_parallel=4, disable_custom_all_reduce=r.choice([True, False]))


def sparse(r, s, files):
    s.update(weights="fp8", weight_sparsity="2:4")


def adapters(r, s, files):
    """LoRA: slots in pools, and adapters of all requests or of those of a class."""
    s["model"] = "llama-3.1-8b"
    for i, p in enumerate(s["pools"]):
        keep = {k: p[k] for k in ("name", "role", "gpu", "replicas", "tensor_parallel", "kv_transfer", "first_token",
                                  "kv_link") if k in p}
        s["pools"][i] = p = {**keep, "engine": "vllm-v1", "enable_lora": True, "max_loras": r.choice([1, 2, 8]),
                             "max_lora_rank": r.choice([8, 16, 64]),
                             **some(r, .4, lora_dtype=["auto", "bfloat16", "float16"], max_num_seqs=[4, 16],
                                    lora_target_modules=[["q_proj", "v_proj"], ["q_proj", "o_proj"]])}
        p["max_cpu_loras"] = 40
        if r.random() < .5:
            p.update(lora_load_bps=r.choice([1e9, 1e10]), max_cpu_loras=r.choice([p["max_loras"], 12]))
    a = dict(count=r.choice([1, 5, 30]), **some(r, .5, rank=8, zipf=[.5, 1], base_share=[0, .3]))
    if "zipf" not in a and r.random() < .5:
        a["weights"] = [float(1 + k % 3) for k in range(a["count"])]
    w = s["workload"]
    if r.random() < .3 and not w.get("sessions") and not w.get("distinct_prompts"):
        w["classes"] = [dict(name="x", share=.5, adapters=a), dict(name="y", share=.5)]
    else:
        w["adapters"] = a


def agents(r, s, files):
    """Tasks of agents, some with sub-agents: an arrival is a task."""
    w = s["workload"]
    for key in ("sessions", "distinct_prompts", "lengths", "clients", "requests", "classes"):
        w.pop(key, None)
    w.update(prompt_tokens=dict(distribution="lognormal", mean=200, cv=1),
             output_tokens=dict(distribution="lognormal", mean=r.choice([5, 40]), cv=.5))
    w["agents"] = dict(turns=r.choice([fixed(1), dict(distribution="uniform", min=1, max=6)]), tasks=r.choice([3, 25]),
                       tool_tokens=r.choice([fixed(50), dict(distribution="lognormal", mean=90, cv=1.5)]),
                       **some(r, .8, tool_time_s=[fixed(1), dict(distribution="lognormal", mean=1, cv=1)]))
    if r.random() < .6:
        w["agents"]["subagents"] = dict(
            probability=r.choice([.3, 1]), agents=dict(distribution="uniform", min=1, max=3), turns=fixed(2),
            prompt_tokens=fixed(100), context=r.choice(["fresh", "fork"]))
    if r.random() < .6:
        w["prefix"] = dict(groups=1, tokens=500)
    s["slo"] = dict(rules=["task p95 <= 30s", "ttft p90 <= 500ms"])


def trace(r, s, files):
    """Recorded requests, of sessions or without."""
    w = s["workload"]
    for key in ("arrivals", "closed_loop", "prompt_tokens", "output_tokens", "sessions", "prefix", "distinct_prompts",
                "clients", "requests", "classes", "agents", "lengths", "order"):
        w.pop(key, None)
    at, rows = 0., []
    sessions = r.random() < .5
    for i in range(r.choice([1, 20, 120])):
        at += r.expovariate(10)
        rows.append(dict(arrival_s=round(at, 6), input_tokens=r.randrange(1, 900), output_tokens=r.randrange(1, 60)))
        if sessions:
            rows[-1]["session_id"] = f"s{r.randrange(1 + i // 3)}"
    w["trace"] = dict(file="trace.csv", skip_empty=True, **some(
        r, .4, limit=[10, 50], start_s=.1, end_s=[5, 30], follow_answers=sessions))
    if len(rows) == 1:
        w["trace"]["start_s"] = 0
    w["trace"].update(r.choice([dict(speed=2), dict(rate=5), {}]))
    if r.random() < .5:
        rows.insert(r.randrange(len(rows)), dict(rows[0], output_tokens=0, input_tokens=0))
        rows.sort(key=lambda row: row["arrival_s"])
    files["trace.csv"] = table(rows)


def table(rows):
    return ",".join(rows[0]) + "\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows)


def lengths(r, s, files):
    """Recorded lengths in place of laws."""
    w = s["workload"]
    for key in ("prompt_tokens", "output_tokens", "sessions", "agents", "distinct_prompts", "clients", "classes"):
        w.pop(key, None)
    rows = [[r.randrange(1, 900), r.randrange(1, 60)] for _ in range(40)]
    if r.random() < .5:
        w["lengths"] = dict(values=rows, repeat=True)
    else:
        w["lengths"] = dict(file="lengths.csv", repeat=True)
        files["lengths.csv"] = table([dict(input_tokens=a, output_tokens=b) for a, b in rows])
    if r.random() < .3:
        w["lengths"].pop("repeat")
        w["requests"] = min(w.get("requests", 30), len(rows))


def laws(r, s, files):
    """Laws of lengths that stand for what was recorded."""
    s["workload"]["prompt_tokens"], s["workload"]["output_tokens"] = (r.choice([
        dict(distribution="pareto", mean=100, shape=2.5, max=4000), dict(distribution="zipf", mean=30, max=300),
        dict(distribution="empirical", values=[3, 50, 200], weights=[1, 2, 1]),
        dict(distribution="empirical", edges=[1, 10, 100, 500], weights=[1, 2, 1]),
        dict(distribution="empirical", quantiles=[dict(p=0, tokens=1), dict(p=.5, tokens=40), dict(p=1, tokens=300)]),
    ]) for _ in range(2))
    for key in ("lengths", "trace", "agents", "clients"):
        s["workload"].pop(key, None)
    if "arrivals" not in s["workload"] and "closed_loop" not in s["workload"]:
        s["workload"]["arrivals"] = dict(process="poisson", rate=5)
    s["workload"].setdefault("requests", 30)


def bursts(r, s, files):
    """Arrivals whose rate changes."""
    w = s["workload"]
    w.pop("closed_loop", None)
    w["arrivals"] = r.choice([
        dict(process="on-off", on_rate=40, off_rate=1, on_s=1, off_s=2), dict(process="weibull", cv=1.5, rate=20),
        dict(process="piecewise", points=[dict(at_s=0, rate=2), dict(at_s=2, rate=40), dict(at_s=4, rate=10)]),
        dict(process="piecewise", period_s=3, points=[dict(at_s=0, rate=2), dict(at_s=1, rate=30)])])


def clients(r, s, files):
    w = s["workload"]
    for key in ("closed_loop", "sessions", "agents", "classes", "distinct_prompts", "prefix", "lengths"):
        w.pop(key, None)
    w.update(arrivals=dict(process="gamma", cv=2, rate=20),
             prompt_tokens=dict(distribution="lognormal", mean=200, cv=1, max=8000),
             output_tokens=dict(distribution="lognormal", mean=20, cv=1, max=2000),
             clients=dict(count=r.choice([1, 5, 40]), **some(r, .6, rate_skew=[.5, 2], cv_spread=.5, prompt_spread=.5,
                                                             output_spread=.7)))


def classes(r, s, files):
    """Classes with lengths, limits and arrivals of their own."""
    w = s["workload"]
    for key in ("closed_loop", "sessions", "agents", "clients", "distinct_prompts", "lengths", "arrivals", "reasoning"):
        w.pop(key, None)
    own = r.random() < .5
    w["classes"] = [
        dict(name="chat", priority=0, slo=r.choice([dict(ttft_ms=200, tpot_ms=30), dict(e2e_ms=900)]),
             **some(r, .6, prompt_tokens=fixed(300), output_tokens=dict(distribution="uniform", min=1, max=30))),
        dict(name="batch", priority=r.choice([2, -1]), slo=["ttft p90 <= 2s", "e2e p95 <= 10s"],
             **some(r, .6, max_tokens=20, output_tokens=fixed(40), reasoning_tokens=fixed(9)))]
    if r.random() < .5:
        w["classes"][1]["slo"] = dict(rules=["90% of requests: ttft <= 500ms and tpot <= 40ms"])
    for c, rate in zip(w["classes"], (4, 9)):
        if own:
            c["arrivals"] = dict(process="poisson", rate=rate)
        else:
            c["share"] = rate / 13
    if not own:
        w["arrivals"] = dict(process="poisson", rate=13)


def preset(r, s, files):
    """A workload that is built in."""
    name = r.choice(["chat", "code", "rag", "reasoning", "summarization", "agentic-coding"])
    s["workload"] = dict(preset=name, requests=20)
    if name == "agentic-coding":
        s["workload"] = dict(preset=name, agents=dict(tasks=2))
        s["slo"] = ["task p90 <= 100s"]
    s["model"], s["pools"][0]["tensor_parallel"] = "qwen3-8b", 2


def repeated(r, s, files):
    w = s["workload"]
    for key in ("sessions", "agents", "clients", "prefix"):
        w.pop(key, None)
    w.update(distinct_prompts=r.choice([1, 6]), order=r.choice(["cycle", "random"]))


def thoughts(r, s, files):
    w = s["workload"]
    w["reasoning"] = dict(r.choice([dict(share=.6), dict(tokens=fixed(20))]), in_context=r.random() < .5)
    if "trace" not in w and "agents" not in w and "distinct_prompts" not in w and "classes" not in w:
        w["sessions"] = dict(turns=fixed(3), think_time_s=dict(distribution="gamma", mean=1, cv=.5))
    if r.random() < .5:
        s["slo"] = ["ttfo p90 <= 2s", "ttfo mean <= 1s"]


def precise(r, s, files):
    """A run that is lengthened until it is precise."""
    w = s["workload"]
    for key in ("duration_s", "timeout_s", "closed_loop", "sessions", "agents", "trace", "lengths", "clients"):
        w.pop(key, None)
    w.update(arrivals=dict(process="poisson", rate=2), prompt_tokens=fixed(100), requests=150, precision=.5,
             output_tokens=dict(distribution="uniform", min=5, max=20))


def limits(r, s, files):
    s["slo"] = dict(ttft_ms=r.choice([60, 300]), tpot_ms=r.choice([8, 25]))


def rules(r, s, files):
    """An SLO as contracts write it, and alerts."""
    s["slo"] = dict(rules=r.sample([
        "ttft p95 <= 300ms", "itl p95 <= 50ms", "request itl p90 <= 40ms", "tpot mean <= 20ms", "e2e max < 30s",
        "queue p50 <= 200µs", "ttft p99.9 <= 1s", "90% of requests: ttft <= 500ms and tpot <= 40ms",
        "e2e p37 <= 2s", "50% of requests: e2e <= 1s"], r.randrange(1, 6)),
        **some(r, .5, window_s=[.2, 1], attainment=[.5, .99], e2e_ms=[500, 5000], ttft_ms=[100, 400]))
    if r.random() < .5:
        s["slo"]["itl_p99_ms"] = 100
    if r.random() < .7:
        s["slo"]["window_s"] = .2
        s["alerts"] = [dict(rule=f"ttft p{p} <= {limit}ms", over_s=r.choice([.4, 1.2]), for_s=r.choice([0, .4]))
                       for p in (50, 95) for limit in (15, 30, 60, 150)] + [dict(rule="e2e p50 <= 1s")]


def shedding(r, s, files):
    s["admission"] = dict(shed_limit=r.choice([1, 4]), **some(
        r, .7, shed_priority_above=[0, 1], queue_limit=[8, 20]))
    if r.random() < .5:
        s["admission"].update(tokens_per_s=3000, token_burst=20000)
    w = s["workload"]
    for key in ("agents", "lengths", "distinct_prompts", "clients"):
        w.pop(key, None)
    if "trace" not in w:
        w.update(prompt_tokens=fixed(300), output_tokens=fixed(20), requests=150,
                 classes=[dict(name="x", share=.3), dict(name="y", share=.7, priority=2)])
        if "arrivals" in w:
            w["arrivals"] = dict(process="poisson", rate=150)
    s["pools"][0]["max_num_seqs"] = 4
    if s["pools"][0]["engine"] in ("orca", "static", "tensorrt-llm", "sglang"):
        engine(r, s, "vllm-v1", max_num_seqs=4)


def prices(r, s, files):
    """Reserved and spot replicas, of which the provider takes some back."""
    p = s["pools"][0]
    p.update(replicas=4, spot_replicas=2, spot_price_per_hour=1.1, reserved_replicas=1, reserved_price_per_hour=2)
    p.pop("replicas_max", None)
    s["random_failures"] = [dict(pool=p["name"], mtbf_s=6, mttr_s=1, spot=True,
                                 in_flight=r.choice(["retry", "fail"]))]


def cold(r, s, files):
    p = s["pools"][0]
    p.update(starts_cold=True, cold_start_s=.5, **some(r, .7, weights_load_bps=[2e9, 1e10]))


def scaling(r, s, files):
    """Fewer and more replicas, down to none, by what is late."""
    p = s["pools"][0]
    p.update(replicas=2, replicas_max=4)
    p.pop("spot_replicas", None)
    s["slo"] = dict(ttft_ms=200, tpot_ms=40)
    s["autoscale"] = [dict(pool=p["name"], interval_s=.5, stabilisation_s=1, low=.6, **r.choice([
        dict(on="ttft", target=.1, min_replicas=1), dict(on="requests", target=4, min_replicas=0),
        dict(on="queue", target=2, min_replicas=2), dict(on="kv", target=.3, min_replicas=0)]))]


def roles(r, s, files):
    """Replicas that go from prefill to decode and back."""
    for key in ("autoscale", "failures", "random_failures", "drain"):
        s.pop(key, None)
    gpu, name = "h100-sxm", r.choice(["vllm-v1", "sglang"])
    for p in s["pools"]:
        for key in [k for k in p if k not in ("name", "role", "kv_transfer", "first_token", "kv_link")]:
            del p[key]
        p.update(gpu=gpu, engine=name, replicas=2, replicas_max=3, tensor_parallel=4)
    s["role_switch"] = dict(interval_s=.5, **some(r, .7, delay_s=[0, .3], queue=[0, 1, 3], high=[.8, .9], low=[.2, .7]))


def links(r, s, files):
    """Links between prefill and decode, and what collectives keep of them."""
    p = s["pools"][0]
    p.update(r.choice([dict(kv_link="pcie"), dict(kv_link="nic-100g"), dict(kv_link_bps=2e10)]))
    if "kv_link_bps" in p:
        p.pop("kv_link", None)
    p.update(some(r, .6, kv_link_latency_s=[0, .01], kv_link_efficiency=[.4, .9]))
    if p.get("kv_link", "").startswith("nic"):
        p["network_reserved"] = .3
    s["disaggregation"] = dict(local_below_tokens=r.choice([50, 400]))


def beside(r, s, files):
    """A share of the requests goes to a pool that serves beside prefill and decode."""
    s["disaggregation"] = dict(serve_share=r.choice([.3, .8]))


def splits(r, s, files):
    for key in ("autoscale", "failures", "random_failures", "drain", "role_switch"):
        s.pop(key, None)
    for p in s["pools"]:
        for key in ("replicas", "replicas_max", "straggler_replicas", "straggler_slowdown", "spot_replicas"):
            p.pop(key, None)
    s["split"] = r.choice(["1P3D", "2P1D"])


def encoder(r, s, files):
    s["pools"][0]["model"] = "qwen3-0.6b"


def tiers(r, s, files):
    p = engine(r, s, "vllm-v1", kv_offloading_size=1, num_gpu_blocks=500, max_model_len=4096,
               enable_prefix_caching=True, kv_tiers=dict(write_policy=r.choice(["write_through", "write_back"]),
                             load_policy=r.choice(["fetch", "fetch_or_recompute"])),
               **some(r, .6, kv_load=["layerwise", "sync", "async"]))
    if r.random() < .7:
        p["kv_tiers"]["nvme"] = dict(size_gib=8, read_bps=1.4e10, **some(r, .6, write_bps=5e9, latency_s=1e-4))
    if r.random() < .7 or "nvme" not in p["kv_tiers"]:
        p["kv_tiers"]["cluster"] = dict(size_gib=64, read_bps=2e11, **some(
            r, .6, write_bps=1e11, latency_s=1e-3, link=["nic", "nic-400g"], link_efficiency=.5))
    w = s["workload"]
    if "trace" not in w and "lengths" not in w and "agents" not in w:
        for key in ("distinct_prompts", "sessions", "clients"):
            w.pop(key, None)
        w.update(prefix=dict(groups=20, tokens=600), prompt_tokens=fixed(200))


def weighing(r, s, files):
    s["router"] = r.choice(["weighted", "kv-aware"])
    keys = ("queue", "tokens", "kv", "prefix") if s["router"] == "weighted" else ("tokens", "prefix")
    s["routing"] = dict(staleness_s=r.choice([0, .3]), weights={k: r.choice([0, .5, 3]) for k in keys} | {"prefix": 1})
    s["pools"][0]["router"] = r.choice(["weighted", "kv-aware", "random"])


def neighbours(r, s, files):
    s["noise"] = dict(neighbour_share=r.choice([.2, 1]), neighbour_slowdown=2, neighbour_period_s=r.choice([.3, 1]),
                      **some(r, .5, jitter=.2))


def drafts(r, s, files):
    """Speculation that differs between requests, by a curve or by the batch."""
    c = dict(method="eagle", num_speculative_tokens=3, **some(r, .5, draft_vocab=32000, draft_host_s=1e-4))
    c["acceptance"] = r.choice([
        dict(process="curve", name="kimi-k3-dspark"),
        dict(process="curve", name="deepseek-v4-pro-mtp", no_thinking=r.choice([True, False])),
        dict(process="curve", lengths=[1.7, 2.2, 2.5], lengths_count="tokens"),
        dict(process="curve", lengths=[.7, 1.2, 1.5], lengths_count="drafts"), dict(process="iid", rate=.6)])
    if c["acceptance"].get("process") == "iid":
        c["heterogeneity_cv"] = .2
    if c["acceptance"].get("name"):
        c["method"] = "medusa"
        c.pop("draft_vocab", None)
    if r.random() < .4:
        del c["num_speculative_tokens"]
        c["adaptive"] = [[4, 3], [16, 1]]
    s["speculation"] = c
    s.pop("decoding", None)


def constrained(r, s, files):
    s["decoding"] = dict(sampling=r.choice(["top-p", "top-k", "top-p-sorted"]), structured_output_s=1e-4)


def readers(r, s, files):
    s["stream"] = dict(stream_interval=r.choice([1, 3]), stall_ms=r.choice([20, 200]),
                       reader_tokens_per_s=r.choice([2, 50]), rtt_ms=r.choice([0, 10]))


def power(r, s, files):
    s["energy"] = dict(idle=.1, **some(r, .7, decode=.3, prefill=.9, host_w=300, pue=1.3, grid_gco2_per_kwh=400,
                                       usd_per_kwh=.2))


def outputs(r, s, files):
    s["output"] = dict(requests_csv=r.choice([True, "auto"]), **some(r, .7, attribution=False, intervals=False,
                                                                      over_time=False))


def published(r, s, files):
    """A model whose keys are overridden, and whose size is checked."""
    s["model"] = dict(config="llama-3.1-8b", override=dict(context=32768),
                      published=dict(total=8.03e9, **some(r, .5, active=8.03e9)))


def config_json(r, s, files):
    """A model by its config.json, of which a field is not known."""
    files["config.json"] = json.dumps(dict(
        architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=2048, intermediate_size=8192,
        num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, head_dim=64, vocab_size=128256,
        max_position_embeddings=32768, tie_word_embeddings=True, torch_dtype="bfloat16", hidden_act="silu",
        num_quirks=3))
    s["model"] = dict(config="config.json", ignore=["num_quirks"], published=dict(total=1.24e9))


def coherent(s):
    """Leaves out what contradicts something else, so that few scenarios are refused."""
    w, first = s["workload"], s["pools"][0]
    turns = "sessions" in w or "agents" in w or "preset" in w or w.get("trace", {}).get("follow_answers")
    speculation = s.get("speculation", {})
    for failure in s.get("random_failures", []):
        if failure.get("spot") and not any(p["name"] == failure["pool"] and "spot_replicas" in p for p in s["pools"]):
            del failure["spot"]
    if "task p95" in str(s.get("slo")) and "agents" not in w:
        del s["slo"]
    if s["model"] != "gpt-oss-20b":
        for key in ("data_parallel", "expert_parallel", "expert_skew", "enable_eplb", "num_redundant_experts",
                    "all_to_all", "batch_overlap", "load_balance_method"):
            first.pop(key, None)
    if turns or speculation and "beam_width" in s.get("decoding", {}):
        s["decoding"] = {k: v for k, v in s.get("decoding", {}).items() if k not in ("n", "beam_width")}
    if "trace" in w:
        w.pop("max_tokens", None)
    if "trace" in w or "lengths" in w:
        w.get("reasoning", {}).pop("tokens", None)
        w.get("reasoning", {"share": 1}).setdefault("share", .5)
    if "trace" in w or any("arrivals" in c for c in w.get("classes", [])):
        w.pop("distinct_prompts", None)
    if "distinct_prompts" not in w:
        w.pop("order", None)
    if w.get("arrivals", {}).get("rate") != 2:  # a load that is not sustained is never precise
        w.pop("precision", None)
    if "reasoning" in w and not turns:
        w["reasoning"].pop("in_context", None)
    if any(p["engine"] == "static" for p in s["pools"]) or "expert_skew" in first:
        s.pop("speculation", None)
    elif speculation.get("method") == "draft" and s["model"] != "llama-3.1-8b":
        speculation["method"] = "ngram"
        speculation.pop("draft_model", None)
    if speculation:
        for p in s["pools"]:
            p.pop("pipeline_parallel", None)
    if w.get("duration_s", 9) <= w.get("warmup_s", 0):
        del w["warmup_s"]


FEATURES = {
    vllm: ONE, vllm_v0: ONE, sglang: ONE, tensorrt: ONE, orca: ONE, decode_priority: ONE, orders: ONE, experts: ONE,
    devices: ANY, efficiencies: ANY, collectives: ONE, sparse: ANY, adapters: ["one", "pair"], agents: ANY, trace: ANY,
    lengths: ANY, laws: ANY, bursts: ANY, clients: ANY, classes: ANY, preset: ONE, repeated: ANY, thoughts: ANY,
    precise: ONE, rules: ANY, shedding: ONE, prices: ONE, cold: ANY, scaling: ONE, roles: SPLIT, links: SPLIT,
    beside: ["beside"], splits: SPLIT, encoder: ["encoded"], tiers: ONE, weighing: ANY, neighbours: ANY, drafts: ANY,
    constrained: ANY, readers: ANY, power: ANY, outputs: ANY, published: ONE, config_json: ANY,
}
