"""KV connectors of a PD pair, as far as the scheduler sees them: nixl/pull_scheduler.py and its worker."""
import types


class Connector:
    """That of the decode side. Every prompt is elsewhere: what of it is not in the cache is loaded, once, and arrives as long after
    its blocks as takes says."""

    requires_kv_delivery = supports_divergent_local_hybrid_hits = False

    def __init__(self, takes):
        self.takes, self.now, self.pulled = takes, 0, set()
        self.under_way = {}  # when each request's cache arrives
        self.allocated = {}  # when each had its blocks

    def get_num_new_matched_tokens(self, request, computed):
        n = len(request.prompt_token_ids) - computed
        return (0, False) if request.request_id in self.pulled or n <= 0 else (n, True)

    def update_state_after_alloc(self, request, blocks, external):
        if not external:
            return
        self.pulled.add(request.request_id)
        self.allocated[int(request.request_id)] = self.now
        self.under_way[request.request_id] = self.now + self.takes(int(request.request_id))

    def arrived(self, now):
        """What the worker reports with a step that ends now: KVConnectorOutput."""
        done = {r for r, t in self.under_way.items() if t <= now}
        for r in done:
            del self.under_way[r]
        return types.SimpleNamespace(finished_recving=done, finished_sending=set(), invalid_block_ids=set(), failed_recving=set(),
                                     kv_connector_stats=None, kv_cache_events=None)

    def next(self):
        return min(self.under_way.values(), default=None)

    request_finished = staticmethod(lambda request, block_ids: (False, None))
    build_connector_meta = take_events = get_kv_connector_stats = staticmethod(lambda *a: None)
    bind_gpu_block_pool = bind_kv_cache_manager = on_new_request = update_connector_output = staticmethod(lambda *a: None)
    has_pending_push_work = has_pending_block_frees = staticmethod(lambda: False)
    get_loaded_kv_cache_group_ids = staticmethod(lambda request: ())


class Sender(Connector):
    """The connector of the prefill side: the blocks of a request that ends are free when its cache has been sent."""

    requires_kv_delivery = True  # of a producer, v1/base.py

    def get_num_new_matched_tokens(self, request, computed):
        return 0, False

    def update_state_after_alloc(self, request, blocks, external):
        pass

    def request_finished(self, request, block_ids):
        self.under_way[request.request_id] = self.now + self.takes(int(request.request_id))
        return True, None

    def arrived(self, now):
        """In the order in which they were sent: that of a set of the worker's is none."""
        sent = sorted((t, int(r)) for r, t in self.under_way.items() if t <= now)
        done = super().arrived(now)
        done.finished_sending, done.finished_recving = [str(r) for _, r in sent], set()
        return done
