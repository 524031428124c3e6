"""What the host adds to whatever waits for an instant: python host.py, until SIGTERM.

It sleeps 2 ms at a time, does nothing else, and prints how late it woke, in milliseconds, as one JSON object. Run with
a priority above that of the server, it is late only by what neither can avoid: pauses of the machine itself.
"""

import json
import signal
import time

late, ended = [], []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
while not ended:
    due = time.perf_counter() + .002
    time.sleep(.002)
    late.append(1e3 * (time.perf_counter() - due))
late.sort()
print(json.dumps({q: round(late[min(len(late) - 1, int(x * len(late)))], 3)
                  for q, x in (("p50", .5), ("p99", .99), ("p999", .999), ("max", 1))} | {"n": len(late)}))
