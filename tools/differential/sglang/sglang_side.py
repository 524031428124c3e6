"""Runs a case on SGLang's own scheduler: its event loops, with a GPU that takes as long as the case says."""
import types
from array import array

import stubs

EOS = 7
FIRST_TOKEN = 1_000_000


class Only:
    """A configuration of which the case sets some fields. Another one is an error: the harness must say what it is."""

    def __init__(self, name, **fields):
        self.__dict__.update(fields)
        self.__dict__["_name"] = name

    def __getattr__(self, field):
        raise AttributeError(f"the harness does not set {self._name}.{field}, which SGLang reads")


class InTurn(set):
    """A set that lists its members in the order in which they were found in it: that of SGLang's goes by their addresses."""

    def __init__(self, *a):
        super().__init__(*a)
        self.found = {}

    def __contains__(self, x):
        if super().__contains__(x):
            self.found[x] = None
            return True
        return False

    def __iter__(self):
        return iter([*self.found, *(x for x in super().__iter__() if x not in self.found)])


class Quiet:
    """What is told and answers nothing: reporters and streamers."""

    def __getattr__(self, name):
        return lambda *a, **k: None


def load(source):
    """Imports the scheduler of the SGLang wheel unpacked at source."""
    global sched, sb, sp, uc, common, context, parallel, Sampling, processor, ComponentType, CacheInitParams, paged, token, pool, ratio
    stubs.install(source)
    import sglang.srt.utils  # noqa: F401
    from sglang.srt.managers import schedule_policy as sp
    from sglang.srt.managers import schedule_batch as sb
    from sglang.srt.managers import scheduler as sched
    from sglang.srt.mem_cache import unified_radix_cache as uc
    from sglang.srt.mem_cache import common
    from sglang.srt.mem_cache.allocator import paged, token
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
    from sglang.srt.mem_cache import memory_pool as pool
    from sglang.srt.managers.scheduler_components import batch_result_processor as processor
    from sglang.srt.managers.scheduler_components import new_token_ratio_tracker as ratio
    from sglang.srt.sampling.sampling_params import SamplingParams as Sampling
    from sglang.srt import runtime_context
    context, parallel = runtime_context._CONTEXT, runtime_context.get_parallel
    sb.SamplingBatchInfo = types.SimpleNamespace(from_schedule_batch=lambda batch, vocab: Info())
    sb.is_pin_memory_available = lambda *a: False
    from sglang.srt.mem_cache import allocation
    allocation.attention_backends = lambda: ("torch_native", "torch_native")  # indices by tensors, not by Triton kernels
    processor.get_global_indexer_capturer = processor.get_global_experts_capturer = lambda: None
    sp.set = InTurn  # those that are preempted together are queued in the order of the batch
    sched.set_time_batch = sched.set_schedule_time_batch = lambda *a: None
    sched.PrefillStats = types.SimpleNamespace(from_adder=lambda *a, **k: None)
    stubs.seal()


class Info:
    """The sampling parameters of a batch, of which the scheduler keeps rows."""
    penalizer_orchestrator = types.SimpleNamespace(is_required=False)

    def filter_batch(self, *a): pass
    def merge_batch(self, other): pass


def policy(c):
    """schedule_policy: priorities are an addition to fcfs."""
    return "fcfs" if c["policy"] == "priority" else c["policy"]


def configure(c):
    """Publishes the configuration that SGLang's modules read from the process."""
    none = dict(disaggregation_mode="decode" if "pd" in c else "null", disaggregation_decode_enable_offload_kvcache=False,
                disaggregation_decode_retraction_backup="cpu_tensor", disaggregation_decode_host_receive_threshold=1,
                disaggregation_decode_enable_radix_cache=False, disaggregation_decode_allocation_policy="early",
                disaggregation_decode_polling_interval=1, disaggregation_transfer_backend="mooncake")
    context._config_bags = dict(
        schedule=Only("schedule", schedule_policy=policy(c), schedule_conservativeness=c["conservativeness"],
                      schedule_low_priority_values_first=True, retraction_policy=c.get("retraction_policy", "length"),
                      prefill_max_requests=None, chunked_prefill_size=c["chunked_prefill_size"]),
        memory=Only("memory", radix_eviction_policy="lru", enable_hisparse=False, enable_flexkv=False,
                    disable_radix_cache=not c["radix"]),
        disagg=Only("disagg", **none),
        exec=Only("exec", mamba=Only("mamba", enable_mamba_extra_buffer=False, enable_mamba_extra_buffer_lazy=False),
                  features=Only("features", enable_encoder_swa_bounded_replay=False, return_hidden_states_mode=None, enable_return_hidden_states=False)),
        serving=Only("serving", strip_thinking_cache=False),
        spec=Only("spec", speculative_algorithm=None),
        observability=Only("observability", enable_metrics=False),
    )
    parallel()._stamp.update(pp_max_micro_batch_size=c["max_running_requests"], pp_size=1, dcp_enabled=False, tp_size=1)


def scheduler(c, rows=None, mode="NULL"):
    """A Scheduler with what its __init__ would give one rank of a text model without speculation."""
    configure(c)
    page, size = c["page_size"], c["num_pages"] * c["page_size"]
    rows = rows or pool.ReqToTokenPool(size=c["max_running_requests"], max_context_len=c["context"] + 4, device="cpu", enable_memory_saver=False)
    torch = __import__("torch")
    if page == 1:
        alloc = token.TokenToKVPoolAllocator(size, torch.int64, "cpu", None, False)
    else:
        alloc = paged.PagedTokenToKVPoolAllocator(size, page, torch.int64, "cpu", None, False)
        alloc.use_triton_kernels = False
    tree = uc.UnifiedRadixCache(CacheInitParams(
        disable=not c["radix"], req_to_token_pool=rows, token_to_kv_pool_allocator=alloc, page_size=page,
        tree_components=(ComponentType.FULL,), tree_core_backend="python"))
    s = object.__new__(sched.Scheduler)
    s.__dict__.update(
        page_size=page, req_to_token_pool=rows, token_to_kv_pool_allocator=alloc, tree_cache=tree, device="cpu",
        max_running_requests=c["max_running_requests"], max_prefill_tokens=c["max_prefill_tokens"],
        max_total_num_tokens=size, max_req_len=c["context"], kv_shard_widening=1, sliding_window_size=None, max_new_tokens_limit=0,
        chunked_prefill_size=c["chunked_prefill_size"], is_mixed_chunk=c["mixed"], chunked_req=None,
        _pending_chunked_abort_req=None, enable_overlap=c["overlap"], enable_skip_finishing_decode=c["overlap"],
        waiting_queue=[], running_batch=sched.ScheduleBatch(reqs=[], batch_is_full=False), last_batch=None,
        result_queue=__import__("collections").deque(), schedule_policy=policy(c), enable_priority_scheduling=c["policy"] == "priority",
        enable_priority_preemption="preemption_threshold" in c, schedule_low_priority_values_first=True, enable_hierarchical_cache=False,
        enable_unified_cache_external_linker=False, enable_lmcache=False, enable_hicache_storage=False, enable_lora=False,
        enable_hisparse=False, hisparse_coordinator=None, dllm_config=None, is_hybrid_swa=False, prefill_delayer=None,
        min_free_slots_delayer=None, dynamic_chunk_sizer=None, max_prefill_bs=0, truncation_align_size=None,
        prefill_decode_interval=0, _prefill_decode_interval_remaining=0, require_mlp_sync=False, decode_offload_manager=None,
        spec_algorithm=Algorithm(), model_config=Only("model_config", is_encoder_decoder=False, vocab_size=1 << 40, self_opened_think_start_ids=None, think_end_ids=None),
        processed_tokens_counter=0, forward_ct=0, priority_scheduling_preemption_threshold=c.get("preemption_threshold", 10),
        grammar_manager=types.SimpleNamespace(has_waiting_grammars=lambda: False),
        beam_coordinator=types.SimpleNamespace(pending_member_rows=lambda b: 0, commit_decode=lambda b: set()),
        dp_attn_adapter=types.SimpleNamespace(maybe_prepare_mlp_sync_batch=lambda b, need_sync=False: b,
                                              maybe_convert_decode_to_extend=lambda b: b),
        ngram_embedding_manager=types.SimpleNamespace(prepare_for_forward=lambda b, chunked_req=None: b),
        load_inquirer=Quiet(), metrics_reporter=types.SimpleNamespace(num_retracted_reqs=0, enable_metrics=False),
        tp_worker=types.SimpleNamespace(model_runner=types.SimpleNamespace(attn_backend=object(), prefill_aware_swa=False)),
        disaggregation_mode=sched.DisaggregationMode[mode], scheduler_stage_metrics=None,
        max_queued_requests=None, future_map=Quiet(),
    )
    s.policy = sp.SchedulePolicy(policy(c), tree, False, c["policy"] == "priority", True)
    s.new_token_ratio_tracker = ratio.NewTokenRatioTracker.from_config()
    s.processor = processor.SchedulerBatchResultProcessor(
        is_generation=True, disaggregation_mode=s.disaggregation_mode, enable_overlap=c["overlap"], enable_overlap_mlx=False,
        model_config=s.model_config, token_to_kv_pool_allocator=alloc, tree_cache=tree, hisparse_coordinator=None,
        req_to_token_pool=rows, decode_offload_manager=None, metrics_collector=None, metrics_reporter=Reporter(), draft_worker=None,
        model_worker=None, logprob_result_processor=None, output_streamer=Quiet(), beam_coordinator=s.beam_coordinator,
        abort_request=None)
    return s


class Reporter(Quiet):
    num_generated_tokens = forward_ct_decode = 0


class Algorithm:
    """No speculation."""
    def is_none(self): return True


def tokens_of(c, r):
    """The prompt's tokens: those of its path in the tree of contents, then its own."""
    ids, node, path = [], r.get("content", 0), []
    while node:
        parent, n = c["contents"][node - 1]
        path.append((node, n))
        node = parent
    for node, n in reversed(path):
        ids += range(node * FIRST_TOKEN, node * FIRST_TOKEN + n)
    ids = ids[: r["prompt"]]
    own = (1000 + r["id"]) * FIRST_TOKEN
    return ids + list(range(own, own + r["prompt"] - len(ids)))


class Run:
    """One case: steps composed, and the times of tokens."""

    def __init__(self, c):
        self.c, self.s, self.t, self.gpu, self.steps, self.times = c, self.scheduler(c), 0, 0, [], {}
        self.todo = sorted(c["requests"], key=lambda r: (r["arrival"], r["id"]))
        self.by = {str(r["id"]): r for r in c["requests"]}
        self.retracted, self.aborted = [], []
        inner = self.s._add_request_to_queue

        def requeue(req, is_retracted=False):
            if is_retracted or req.is_retracted:  # or preempted
                self.retracted.append(int(req.rid))
            inner(req, is_retracted)
        self.s._add_request_to_queue = requeue
        self.s.send_abort_output = lambda a, req: self.aborted.append(int(req.rid))

    def admit(self):
        while self.todo and self.todo[0]["arrival"] <= self.t:
            r = self.todo.pop(0)
            p = Sampling(max_new_tokens=r.get("max_output") or r["output"], ignore_eos=self.c.get("ignore_eos", False), stop_token_ids=[EOS])
            p.normalize(None)
            req = self.new(str(r["id"]), "", array("q", tokens_of(self.c, r)), p, eos_token_ids={EOS}, vocab_size=1 << 60)
            req.priority = r.get("priority")
            self.s.init_req_max_new_tokens(req)
            self.s._add_request_to_queue(req)

    def scheduler(self, c):
        return scheduler(c)

    def new(self, *a, **k):
        return sb.Req(*a, **k)

    def compose(self):
        return self.s.get_next_batch_to_run(running_batch=self.s.running_batch, last_batch=self.s.last_batch)

    def plan(self):
        """get_next_batch_to_run, and a record of what it composed."""
        s = self.s
        self.retracted = []
        plan = self.compose()
        s.running_batch = plan.running_batch
        batch = plan.batch_to_run
        if batch is None:
            return None
        rows, extend = [], batch.forward_mode.is_extend()
        decoding = {id(r) for r in batch.decoding_reqs or ()} if extend else None
        for r in batch.reqs:
            if extend and id(r) not in decoding:
                rows.append((int(r.rid), r.extend_end - r.prefix_len, r.prefix_len))
            else:
                rows.append((int(r.rid), 1, r.kv.kv_committed_len - 1))
        free = s.token_to_kv_pool_allocator.available_size() + s.tree_cache.evictable_size()
        self.steps.append(dict(t=self.t, batch=rows, preempted=self.retracted, free=free, evictable=s.tree_cache.evictable_size(),
                               extend=extend, ratio=s.new_token_ratio_tracker.current))
        return batch

    def run_batch(self, batch):
        """What run_batch does to the scheduler; the GPU is busy from when it is free."""
        c = self.c
        self.s.forward_ct += 1
        batch.forward_iter = self.s.forward_ct
        if batch.extend_num_tokens:
            self.s.processed_tokens_counter += batch.extend_num_tokens
        batch.input_ids = None
        self.gpu = max(self.gpu, self.t)
        self.steps[-1]["start"] = self.gpu
        self.gpu += c["step_ns"] + c["token_ns"] * sum(n for _, n, _ in self.steps[-1]["batch"])
        return self.gpu

    def next_token(self, r):
        """The token that comes next: no other request has it, so that none finds it in the cache, unless it ends the answer."""
        n = len(r.output_ids) + 1
        ends = n == self.by[r.rid]["output"] and self.by[r.rid].get("max_output")
        return EOS if ends else (1_000_000 + int(r.rid)) * FIRST_TOKEN + n

    def process(self, batch):
        before = {r.rid: len(r.output_ids) for r in batch.reqs}
        torch = __import__("torch")
        tokens = [self.next_token(r) for r in batch.reqs]
        extend = batch.forward_mode.is_extend()
        result = types.SimpleNamespace(
            copy_done=None, auxiliary_host_output=None, routed_experts_output=None, indexer_topk_output=None, logits_output=None,
            next_token_ids=torch.tensor(tokens), extend_input_len_per_req=None, extend_logprob_start_len_per_req=None,
            can_run_cuda_graph=False, get_num_generated_tokens=lambda n: n, customized_info=None, grammar_advanced=False,
            num_correct_drafts_per_req_cpu=None)
        if extend:
            self.s.processor.process_batch_result_prefill(batch, result)
        else:
            self.s.processor.process_batch_result_decode(batch, result)
        for r in batch.reqs:
            n = len(r.output_ids) - before[r.rid]
            if n:
                self.times.setdefault(int(r.rid), []).extend([self.t] * n)

    def run(self):
        return self.run_overlap() if self.c["overlap"] else self.run_normal()

    def idle(self):
        """on_idle, and the wait for the next request. Reports whether there is none."""
        if self.s.waiting_queue and not self.retracted:
            raise RuntimeError("SGLang is stuck: requests wait and nothing runs")
        self.s.new_token_ratio_tracker.reset()
        if self.s.waiting_queue:
            return False  # those that were preempted are tried again, and those for which they were
        if not self.todo:
            return True
        self.t = max(self.t, self.todo[0]["arrival"])
        return False

    def run_normal(self):
        s = self.s
        while True:
            self.admit()
            batch = self.plan()
            if batch:
                self.t = self.run_batch(batch)
                self.process(batch)
            elif self.idle():
                return self
            s.last_batch = batch

    def run_overlap(self):
        s = self.s
        while True:
            self.admit()
            batch = self.plan()
            if s.is_disable_overlap_for_batch(batch, s.last_batch):
                raise RuntimeError("consecutive prefills overlap by default")
            if batch:
                s.result_queue.append((batch.copy(), self.run_batch(batch)))
            if s.last_batch:
                done, end = s.result_queue.popleft()
                self.t = max(self.t, end)
                self.process(done)
            elif batch is None and self.idle():
                return self
            s.last_batch = batch
