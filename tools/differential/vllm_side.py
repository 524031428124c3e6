"""Runs a case on the real vLLM scheduler: the loop of EngineCore with a GPU that takes as long as the case says."""
import hashlib
import pickle
import types

import connector
import stubs

Scheduler = AsyncScheduler = None


def load(source):
    """Imports the scheduler of the vLLM source distribution unpacked at source."""
    global Scheduler, AsyncScheduler, Request, SamplingParams, ku, iface, ModelRunnerOutput, sched_mod, DraftTokenIds
    global version
    version = source.rstrip("/").rpartition("vllm-")[2]
    stubs.install(source)
    from vllm.v1.core.sched import scheduler as sched_mod
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.request import Request
    from vllm.sampling_params import SamplingParams
    from vllm.v1.core import kv_cache_utils as ku
    from vllm.v1 import kv_cache_interface as iface
    from vllm.v1.outputs import ModelRunnerOutput
    try:
        from vllm.v1.outputs import DraftTokenIds
    except ImportError:
        DraftTokenIds = None
    import contextlib
    sched_mod.record_function_or_nullcontext = lambda *_a, **_k: contextlib.nullcontext()
    sched_mod.EventPublisherFactory = types.SimpleNamespace(create=lambda *a, **k: Nothing("publisher", publish=lambda *a: None, shutdown=lambda: None))
    sched_mod.KVConnectorBlockState = types.SimpleNamespace
    sched_mod.KVConnectorFactory = types.SimpleNamespace(create_connector=lambda config, **k: config.kv_transfer_config.kind(config.kv_transfer_config.takes))
    from vllm.v1 import request as request_mod
    request_mod.StructuredOutputRequest = types.SimpleNamespace(from_sampling_params=lambda p: None)
    from vllm.v1.core.sched import output as output_mod
    output_mod.strip_covered_mm_data = lambda mm_features, *a, **k: mm_features
    ku.init_none_hash(fast_hash)
    try:  # where the registry of managers is filled by the engine core
        from vllm.v1.core.single_type_kv_cache_manager import register_all_kvcache_specs
        register_all_kvcache_specs(None)
    except ImportError:
        pass
    except Exception as e:
        print("register_all_kvcache_specs:", e)
    stubs.seal()


def fast_hash(x):
    return hashlib.blake2b(pickle.dumps(x), digest_size=16).digest()


class Nothing:
    """A configuration of which the case sets some fields. Another one is an error: the harness must say what it is."""

    def __init__(self, name, **fields):
        self.__dict__.update(fields)
        self.__dict__["_name"] = name

    def __getattr__(self, field):
        raise AttributeError(f"the harness does not set {self._name}.{field}, which vLLM reads")


def config(c):
    k = c.get("spec", 0)
    method = c.get("spec_method", "ngram")
    lookahead = k if k and method in ("eagle", "draft_model") else 0
    eagle = method == "eagle"
    speculative = None
    if k:
        speculative = Nothing(
            "speculative_config", num_speculative_tokens=k, num_speculative_tokens_per_batch_size=None, use_eagle=lambda: eagle,
            uses_draft_model=lambda: method == "draft_model", use_eagle_block_drop=lambda: eagle, needs_eagle_block_drop=lambda: eagle,
            disable_eagle_block_drop=False, max_num_new_slots_for_drafting=1 if method == "draft_model" else 0,
            use_dflash=lambda: False, use_dspark=lambda: False, parallel_drafting=False, method=method,
            use_multi_module_mtp=lambda: False, disable_lookahead_block_hashes=False, is_extract_hidden_states=lambda: False,
            uses_extract_hidden_states=lambda: False,
        )
    prefill_lookahead = 1 if k and eagle else 0
    hash_lookahead = prefill_lookahead if c["prefix_caching"] else 0
    scheduled = c["max_num_batched_tokens"] - (c["max_num_seqs"] if version.startswith("0.22") and method == "draft_model" else 0)
    s = Nothing(
        "scheduler_config", max_num_seqs=c["max_num_seqs"], max_num_active_seqs=None, max_num_scheduled_tokens=scheduled,
        max_num_batched_tokens=c["max_num_batched_tokens"], long_prefill_token_threshold=c.get("threshold", 0),
        long_prefill_token_threshold_adaptive=False, policy="priority" if c.get("priority") else "fcfs",
        watermark=c.get("watermark", 0.0), prefill_schedule_interval=1, scheduler_reserve_full_isl=c.get("full_isl", True),
        enable_chunked_prefill=c.get("chunked", True), async_scheduling=c["async"], disable_hybrid_kv_cache_manager=False,
        max_num_partial_prefills=1, max_long_partial_prefills=1,
    )
    model = Nothing(
        "model_config", uses_mrope=False, is_encoder_decoder=False, max_model_len=c["max_model_len"], runner_type="generate",
        is_diffusion=False, supports_multimodal_inputs=False, return_sampling_mask=False, is_hybrid=False,
        enable_return_routed_experts=False,
    )
    pull = c.get("pull")
    send = c.get("send")
    transfer = (pull or send) and Nothing(
        "kv_transfer_config", kv_load_failure_policy="fail", is_kv_consumer=bool(pull), is_kv_producer=bool(send),
        kind=connector.Connector if pull else connector.Sender, takes=c.get("_takes") or (lambda request: (pull or send)["latency_ns"]))
    return Nothing(
        "vllm_config", scheduler_config=s, model_config=model, lora_config=None, kv_events_config=None, kv_transfer_config=transfer,
        ec_transfer_config=None, speculative_config=speculative, is_mm_encoder_only=False, num_speculative_tokens=k,
        num_lookahead_tokens=lookahead, num_prefill_lookahead_tokens=prefill_lookahead, num_hash_lookahead_tokens=hash_lookahead,
        use_v2_model_runner=not version.startswith("0.22"), max_concurrent_batches=batches(c),
        max_in_flight_tokens=batches(c) * c["max_num_batched_tokens"],
        cache_config=Nothing(
            "cache_config", num_gpu_blocks=c["num_gpu_blocks"], enable_prefix_caching=c["prefix_caching"], block_size=c["block_size"],
            enable_mamba_shared_prefix_checkpoint=False, mamba_cache_mode="none", prefix_caching_hash_algo="sha256",
            cache_dtype="auto", kv_cache_dtype_skip_layers=[], kv_offloading_size=None,
        ),
        parallel_config=Nothing(
            "parallel_config", data_parallel_index=0, data_parallel_size=1, decode_context_parallel_size=1,
            prefill_context_parallel_size=1, pipeline_parallel_size=max(1, len(c.get("stages", ()))), data_parallel_rank=0,
        ),
        observability_config=Nothing(
            "observability_config", per_request_spec_decode_metrics="none", kv_cache_metrics=False, enable_mfu_metrics=False,
            enable_logging_iteration_details=False, kv_cache_metrics_sample=0.01,
        ),
        ec_manager_config=Nothing("ec_manager_config", get_encoder_cache_manager_obj=lambda: None),
        aux_output_config=Nothing("aux_output_config", enabled=False), diffusion_config=None,
    )


def batches(c):
    """VllmConfig.max_concurrent_batches."""
    stages = max(1, len(c.get("stages", ())))
    return stages + (c["async"] and (stages == 1 or not version.startswith("0.22")))


class Out:
    """What the structured output manager would be."""
    should_advance = staticmethod(lambda r: False)
    accept_tokens = staticmethod(lambda r, t: True)
    should_fill_bitmask = staticmethod(lambda r: False)
    validate_tokens = staticmethod(lambda r, t: t)


def scheduler(c):
    import inspect
    spec = iface.FullAttentionSpec(block_size=c["block_size"], num_kv_heads=1, head_size=1, dtype=__import__("torch").float32)
    groups = [iface.KVCacheGroupSpec(["layer"], spec)]
    for i in range(c.get("window_groups", 0)):
        window = iface.SlidingWindowSpec(block_size=c["block_size"], num_kv_heads=1, head_size=1, dtype=__import__("torch").float32,
                                         sliding_window=c["window"])
        groups.append(iface.KVCacheGroupSpec([f"window {i}"], window))
    kv = iface.KVCacheConfig(num_blocks=c["num_gpu_blocks"], kv_cache_tensors=[], kv_cache_groups=groups)
    cls = AsyncScheduler if c["async"] else Scheduler
    kw = dict(vllm_config=config(c), kv_cache_config=kv, structured_output_manager=Out(), block_size=c["block_size"], log_stats=False,
              mm_registry=types.SimpleNamespace(supports_multimodal_inputs=lambda m: False))
    return cls(**kw)


def tokens_of(c, r):
    """The prompt's tokens: those of its path in the tree of contents, then its own."""
    ids, node = [], r.get("content", 0)
    path = []
    while node:
        parent, n = c["contents"][node - 1]
        path.append((node, n))
        node = parent
    answers = {q["answer"]: q for q in c["requests"] if q.get("answer")}
    for node, n in reversed(path):
        if node in answers:
            ids += answer_of(answers[node])
            continue
        ids += range(1_000_000_000 + node * 1_000_000, 1_000_000_000 + node * 1_000_000 + n)
    ids = ids[: r["prompt"]]
    return ids + list(range(2_000_000_000 + r["id"] * 1_000_000, 2_000_000_000 + r["id"] * 1_000_000 + r["prompt"] - len(ids)))


def answer_of(r):
    """The tokens of the output of a request that does not draft."""
    return [3_000_000_000 + r["id"] * 1_000_000 + i for i in range(r["output"] - 1)] + [EOS]


EOS = 7


class Run:
    def __init__(self, c):
        self.c, self.s, self.steps, self.t, self.times = c, scheduler(c), [], 0, {}
        self.hasher = ku.get_request_block_hasher(c["block_size"], fast_hash, *([config(c).num_hash_lookahead_tokens] if config(c).num_hash_lookahead_tokens and not version.startswith("0.22") else [])) if c["prefix_caching"] else None
        self.todo = sorted(c["requests"], key=lambda r: (r["arrival"], r["id"]))
        self.by = {str(r["id"]): r for r in c["requests"]}
        self.preempted, self.idle, self.under_way = [], False, False
        self.connector = self.s.connector
        if self.connector and c.get("pull"):
            self.watch_loads()
            self.todo = [{**r, "arrival": r["arrival"] + c["pull"]["prefill_ns"]} for r in self.todo]
        inner = self.s._preempt_request

        def preempt(request, *a, **k):
            self.preempted.append(int(request.request_id))
            return inner(request, *a, **k)
        self.s._preempt_request = preempt

    def admit(self, seen=None):
        seen = self.t if seen is None else seen
        while self.todo and self.todo[0]["arrival"] <= seen:
            r = self.todo.pop(0)
            p = SamplingParams(max_tokens=1 if self.c.get("send") else r.get("max_output") or r["output"], ignore_eos=False)
            if hasattr(p, "_eos_token_id"):
                p._eos_token_id = EOS
            p._all_stop_token_ids = {EOS}
            q = Request(str(r["id"]), tokens_of(self.c, r), p, None, arrival_time=r["arrival"] + r["id"] * 1e-3, priority=r.get("priority", 0), block_hasher=self.hasher)
            if getattr(q, "eos_token_id", 0) is None:
                q.eos_token_id = EOS
            self.s.add_request(q)

    def schedule(self):
        if self.connector:
            self.connector.now, self.loaded = self.t, 0
        preempted = len(self.preempted)
        so = self.s.schedule()
        so._preempts = len(self.preempted) > preempted
        batch, self_sampled = [], set()
        for rid, n in so.num_scheduled_tokens.items():
            q = self.s.requests[rid]
            batch.append((int(rid), n, q.num_computed_tokens - n))
            if not q.is_prefill_chunk:
                self_sampled.add(rid)
        so._sampled = self_sampled
        so._batch = batch
        so._admitted = {x.req_id for x in so.scheduled_new_reqs} | set(getattr(so.scheduled_cached_reqs, "resumed_req_ids", ()))
        if batch:
            self.steps.append(dict(t=self.t, batch=batch, preempted=list(self.preempted), free=self.free(),
                                   waiting=len(self.s.waiting)))
            self.preempted = []
        return so

    def free(self):
        """Blocks that a step leaves: before those that it allocates to loads, unless these are in one order with what is admitted or another
        step is under way."""
        before = self.connector and self.c.get("pull") and not self.under_way and not self.c["priority"]
        return self.s.kv_cache_manager.block_pool.get_num_free_blocks() + (self.loaded if before else 0)

    def watch_loads(self):
        """Counts the free blocks that loads take."""
        manager = self.s.kv_cache_manager
        inner, free = manager.allocate_slots, manager.block_pool.get_num_free_blocks

        def allocate(*a, delay_cache_blocks=False, **k):
            before = free()
            blocks = inner(*a, delay_cache_blocks=delay_cache_blocks, **k)
            self.loaded += before - free() if delay_cache_blocks else 0
            return blocks
        manager.allocate_slots = allocate

    def duration(self, so):
        c = self.c
        return c["step_ns"] + c["token_ns"] * so.total_num_scheduled_tokens

    def update(self, so):
        ids = list(so.num_scheduled_tokens)
        out = []
        for rid in ids:
            q = self.s.requests.get(rid)
            if q is None or rid not in so._sampled:
                out.append([])
                continue
            r = self.by[rid]
            have = q.num_output_tokens
            drafts = so.scheduled_spec_decode_tokens.get(rid)
            if drafts and rid in so._admitted:
                drafts = None  # placeholders that pad an admission of one token to a decode: all are rejected
            n = 1 + (min(len(drafts), accept(self.c, r, have)) if drafts else 0)
            out.append([EOS if have + i + 1 == r["output"] else 3_000_000_000 + int(rid) * 1_000_000 + have + i for i in range(n)])
        mro = ModelRunnerOutput(req_ids=ids, req_id_to_index={r: i for i, r in enumerate(ids)}, sampled_token_ids=out, logprobs=None, prompt_logprobs_dict={}, pooler_output=[])
        if self.connector:
            self.connector.now = self.t
            mro.kv_connector_output = self.connector.arrived(self.t)
        result = self.s.update_from_output(so, mro)
        for e in result.values():
            for o in e.outputs:
                self.times.setdefault(int(o.request_id), []).extend([self.t] * len(o.new_token_ids))
        if self.c.get("spec") and not self.c["async"]:
            drafts = [i for i in ids if i in self.s.requests and i in so._sampled]
            self.s.update_draft_token_ids(DraftTokenIds(drafts, [[9] * self.c["spec"]] * len(drafts)))

    def run(self):
        if self.c.get("stages"):
            return self.run_stages()
        return self.run_async() if self.c["async"] else self.run_sync()

    def run_sync(self):
        """EngineCore.step."""
        while True:
            self.admit()
            if not self.has_work():
                if not self.todo:
                    return self
                self.t = self.todo[0]["arrival"]
                continue
            so = self.schedule()
            if so.total_num_scheduled_tokens == 0 and so._preempts:
                pass  # it composes the next step at once
            elif so.total_num_scheduled_tokens == 0 and self.something_comes():
                self.sleep()
            elif so.total_num_scheduled_tokens == 0 and self.stuck():
                return self
            if so.total_num_scheduled_tokens > 0:
                self.t += self.duration(so)
            self.update(so)

    def has_work(self):
        """EngineCore.has_work: an engine that waits for a cache to be sent goes on, if only to learn of it."""
        return self.s.has_requests() if self.c.get("send") else self.s.has_unfinished_requests()

    def something_comes(self):
        """Reports whether an engine that composes nothing waits for a cache or a request."""
        return self.connector and (self.connector.under_way or self.todo)

    def sleep(self):
        """Nothing to compute: until a cache or a request arrives, the engine composes the same empty step every millisecond."""
        nexts = [t for t in (self.connector.next(), self.todo[0]["arrival"] if self.todo else None) if t is not None]
        self.t = max([self.t] + ([min(nexts)] if nexts else []))

    def stuck(self):
        """Reports whether the scheduler composes nothing for ever: it has composed an empty step in this very state before,
        with nothing under way and at the same instant, and depends on nothing else."""
        s = self.s
        state = repr((self.t, len(self.todo), [(r.request_id, r.num_computed_tokens, r.num_output_tokens, str(r.status)) for r in s.running],
                      [(r.request_id, r.num_computed_tokens, str(r.status)) for r in s.waiting], s.kv_cache_manager.block_pool.get_num_free_blocks()))
        again, self.state = state == getattr(self, "state", None), state
        self.idle = again and (not self.todo or self.todo[0]["arrival"] > self.t)
        return self.idle

    def run_async(self):
        """EngineCore.step_with_batch_queue with a queue of two."""
        queue, gpu = [], 0
        while True:
            self.admit()
            if self.has_work():
                self.under_way = any(x[2] for x in queue)
                so = self.schedule()
                ran = so.total_num_scheduled_tokens > 0
                if ran:
                    gpu = max(gpu, self.t)
                    self.steps[-1]["start"] = gpu
                    gpu += self.duration(so)
                if not ran and not any(x[2] for x in queue) and not so._preempts:
                    if self.something_comes():
                        self.sleep()
                    elif self.stuck():
                        return self
                queue.append((so, max(gpu, self.t) if ran or queue else self.t, ran))
                if len(queue) < 2 and (ran or self.has_work()):
                    continue
            elif not queue:
                if not self.todo:
                    return self
                self.t = max(self.t, self.todo[0]["arrival"])
                continue
            so, end, _ = queue.pop(0)
            self.t = max(self.t, end)
            self.update(so)


    def run_stages(self):
        """EngineCore.step_with_batch_queue with a queue as deep as the pipeline, whose stages each take their share, or one
        deeper: see begins."""
        stages, queue, fills = self.c["stages"], [], not version.startswith("0.22")
        depth = batches(self.c)
        free, self.samples, composed = [0] * len(stages), {}, 0
        while True:
            self.admit()
            if self.s.has_requests() if self.c["async"] else self.s.has_unfinished_requests():
                so, end = self.schedule(), self.t
                ran, composed = so.total_num_scheduled_tokens > 0, composed + 1
                if ran:
                    end = max(end, self.needed(composed)) if self.c["async"] else end
                    for i, layers in enumerate(stages):
                        end = free[i] = max(end, free[i]) + self.duration(so) * layers // sum(stages)
                    if self.c["async"]:
                        self.steps[-1]["start"] = end  # see diary.go
                        self.samples[composed] = end if self.samples_needed(so) else 0
                queue.append((so, end, ran))
                done = not queue[0][2] or queue[0][1] <= self.t
                if len(queue) < depth and (fills or ran and not done):
                    continue
                if not any(x[2] for x in queue) and self.stuck():
                    return self
            elif not queue:
                if not self.todo:
                    return self
                self.t = max(self.t, self.todo[0]["arrival"])
                continue
            so, end, _ = queue.pop(0)
            self.t = max(self.t, end)
            self.update(so)

    def needed(self, number):
        """When the tokens are there that the stages before the last wait for, of the number-th batch: those of the batch that
        is a pipeline's depth before (0.33, PPHandler.get_prev_sampled_outputs, v1/worker/gpu/pp_utils.py), or of the latest
        (0.22, GPUModelRunner._pp_receive_prev_sampled_token_ids_to_input_batch, v1/worker/gpu_model_runner.py)."""
        until = number - (1 if version.startswith("0.22") else len(self.c["stages"]))
        past = [i for i in self.samples if i <= until]
        self.samples[until] = max((self.samples.pop(i) for i in past), default=0)
        return self.samples[until]

    def samples_needed(self, so):
        """Whether a batch samples tokens that the other stages are sent: in 0.33 not those that are the only ones of a
        request (compute_need_sampled_mask)."""
        if version.startswith("0.22"):
            return bool(so._sampled)
        for rid, n, computed in so._batch:
            q = self.s.requests[str(rid)]
            known = q.num_prompt_tokens + q.num_output_tokens if computed < q.num_prompt_tokens else q.num_prompt_tokens
            prefills = computed < known
            if str(rid) in so._sampled and not (prefills and known + 1 >= q.num_prompt_tokens + q.max_tokens):
                return True
        return False


def accept(c, r, position):
    """Drafts accepted of any number: a hash that both sides can compute."""
    x = (r["id"] * 2654435761 + position * 40503 + 12345) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 2246822519) & 0xFFFFFFFF
    x ^= x >> 13
    return x % (c["spec"] + 1)
