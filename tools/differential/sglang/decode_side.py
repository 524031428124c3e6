"""The decode side of a PD pair: SGLang's own queues of what is to come, with caches that arrive as the case says."""
import types

import sglang_side as side

ROOM = 1  # added to a request's number: 0 says that metadata has not come
ADDRESS = "prefill:1"


def load():
    """Imports the queues of SGLang's decode side."""
    global decode, KVPoll
    from sglang.srt.disaggregation import decode, decode_schedule_batch_mixin
    from sglang.srt.disaggregation.base import KVPoll
    decode_schedule_batch_mixin.SamplingBatchInfo = side.sb.SamplingBatchInfo
    decode.poll_and_all_reduce = lambda pollers, group, **k: [p.poll() for p in pollers]  # of one rank
    decode.all_reduce_flags = lambda flags, group, op: flags
    decode.get_kv_class = lambda backend, kind: Receiver
    decode.kv_to_page_indices = lambda indices, page: indices
    side.sched._make_abort_req = aborts
    decode.set_time_batch = decode.set_schedule_time_batch = lambda *a: None


class Aborts(Exception):
    """SGLang ends a request for which there is no room even alone."""


def aborts(*a, **k):
    raise Aborts


class Receiver:
    """A receiver of a cache: it is computed from when there is room for it, and arrives as long after that as the case says."""
    run = None
    conclude_state = None

    def __init__(self, mgr, bootstrap_addr, bootstrap_room):
        self.room, self.arrives = bootstrap_room, None

    def init(self, rank): pass
    def clear(self): pass

    def send_metadata(self, *a, **k):
        run = Receiver.run
        run.allocated[self.room - ROOM] = run.t
        self.arrives = run.t + run.takes(self.room - ROOM)
        run.under_way.append(self.arrives)

    def poll(self):
        if self.arrives is None:
            return KVPoll.WaitingForInput
        return KVPoll.Success if self.arrives <= Receiver.run.t else KVPoll.Transferring


class Indices:
    """The metadata slots: as many as are asked for."""

    def available_size(self): return 1 << 30
    def alloc(self): return 0
    def free(self, index): pass


class Metadata:
    """What comes with a cache: its first token, and whose it is."""

    def __init__(self, run):
        self.run = run

    def get_buf(self, index):
        one = lambda *x: __import__("torch").tensor(list(x))  # noqa: E731
        r = self.run.committing
        return (one(self.run.next_token(r)), one(*[0] * 7), *[None] * 11, one(r.bootstrap_room))

    def clear_slot(self, index): pass


class KVCache:
    """Keeps nothing: what is retracted is copied to the host and back in no time."""
    cpu_copy_carries_mamba = False

    def get_cpu_copy(self, *a, **k): return []
    def load_cpu_copy(self, *a, **k): pass


def scheduler(run, c):
    """The Scheduler of a decode worker."""
    pd = c["pd"]
    rows = decode.DecodeReqToTokenPool(c["max_running_requests"], c["context"] + 4, "cpu", False, pd["extra_slots"])
    s = side.scheduler(c, rows, "DECODE")
    alloc = s.token_to_kv_pool_allocator
    alloc._kvcache = KVCache()
    s.__dict__.update(
        batch_result_processor=types.SimpleNamespace(process_batch_result_prebuilt=run.first_tokens,
                                                     _maybe_update_reasoning_tokens=s.processor._maybe_update_reasoning_tokens),
        enable_skip_finishing_decode=False, enable_decode_hicache=False, kv_checksum_computer=None, output_streamer=side.Quiet(),
        schedule_stream=side.Quiet(), forward_stream=side.Quiet(), stage_metrics=None)
    s.spec_algorithm.build_disagg_draft_input = lambda *a: None
    s.tp_worker.is_hybrid_swa = False
    queue, transfers = object.__new__(decode.DecodePreallocQueue), object.__new__(decode.DecodeTransferQueue)
    transfers.__dict__.update(
        queue=[], gloo_group=None, req_to_metadata_buffer_idx_allocator=Indices(), metadata_buffers=Metadata(run), scheduler=s,
        enable_host_receive=False, tree_cache=s.tree_cache, spec_algorithm=s.spec_algorithm, enable_staging=False,
        enable_deferred_kv_release=False, _deferred_releases=[])
    queue.__dict__.update(
        req_to_token_pool=rows, token_to_kv_pool_allocator=alloc, token_to_kv_pool=None, draft_token_to_kv_pool=None,
        metadata_buffers=transfers.metadata_buffers, req_to_metadata_buffer_idx_allocator=Indices(), scheduler=s,
        transfer_queue=transfers, tree_cache=s.tree_cache, gloo_group=None, _num_published_destinations=0, tp_rank=0, pp_size=1,
        max_total_num_tokens=s.max_total_num_tokens, num_reserved_decode_tokens=pd["reserved"], transfer_backend=None,
        queue=[], retracted_queue=[], pending_reqs=[], _prefill_dp_rank_queries={},
        kv_manager=types.SimpleNamespace(prefill_info_table={ADDRESS: types.SimpleNamespace(dp_size=1)},
                                         kv_args=types.SimpleNamespace(state_types=[])))
    s.disagg_decode_prealloc_queue, s.disagg_decode_transfer_queue = queue, transfers
    commit = transfers._commit_transfer_to_req

    def remember(decode_req):
        run.committing = decode_req.req
        commit(decode_req)
    transfers._commit_transfer_to_req = remember
    return s


class Run(side.Run):
    """A case on a decode worker: event_loop_normal_disagg_decode and event_loop_overlap_disagg_decode."""

    def __init__(self, c):
        self.allocated, self.under_way, self.waited = {}, [], None
        super().__init__(c)
        Receiver.run = self

    def scheduler(self, c):
        return scheduler(self, c)

    def first_tokens(self, batch):
        """process_batch_result_prebuilt, and a record of the tokens that came with caches."""
        for r in batch.reqs:
            self.times.setdefault(int(r.rid), [self.t])
        self.s.processor.process_batch_result_prebuilt(batch)

    def takes(self, rid):
        pd = self.c["pd"]
        return pd["latency_ns"] + pd["token_ns"] * self.by[str(rid)]["prompt"]

    def new(self, *a, **k):
        req = side.sb.Req(*a, **k)
        req.bootstrap_host, req.bootstrap_port, req.bootstrap_room = "prefill", 1, int(req.rid) + ROOM
        return req

    def compose(self):
        s = self.s
        s.process_decode_queue()
        return s.get_next_disagg_decode_batch_to_run(running_batch=s.running_batch)

    def idle(self):
        """The next thing that comes: a request, or a cache. Reports whether there is none."""
        s = self.s
        s.new_token_ratio_tracker.reset()
        queue = s.disagg_decode_prealloc_queue
        waits = [len(queue.queue), len(queue.retracted_queue), len(s.waiting_queue), len(s.disagg_decode_transfer_queue.queue)]
        if any(waits) and self.waited != (self.t, waits):  # the batch still had those that have ended
            self.waited = self.t, waits
            return False
        self.under_way = [t for t in self.under_way if t > self.t]
        coming = self.under_way + [r["arrival"] for r in self.todo[:1]]
        if coming:
            self.t = max(self.t, min(coming))
            return False
        if any(waits):
            raise Aborts
        return True
