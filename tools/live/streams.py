"""Streams of chat completions with the openai package: python streams.py URL STREAMS REQUESTS TOKENS WORDS RATE.

RATE requests begin in a second, but never more than STREAMS are under way. Prints one JSON object: latencies in milliseconds as this client sees them, TTFT from the call to the first token and
ITL between chunks with text.
"""

import asyncio
import json
import sys
import time

import httpx
from openai import AsyncOpenAI


def quantile(values, q):
    values = sorted(values)
    return values[max(0, -(-int(q * 1000 * len(values)) // 1000) - 1)] if values else None


async def main(url, streams, requests, tokens, words, rate):
    limits = httpx.Limits(max_connections=streams, max_keepalive_connections=streams)
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0,
                         http_client=httpx.AsyncClient(limits=limits, timeout=600))
    ttft, itl, e2e, left = [], [], [], iter(range(requests))

    async def worker():
        for number in left:
            await asyncio.sleep(start + number / rate - time.perf_counter())
            prompt = f"{number:07d} " + "word " * words
            began = last = time.perf_counter()
            first, stream = True, await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": prompt}], max_tokens=tokens, stream=True)
            async for chunk in stream:
                if not chunk.choices or not chunk.choices[0].delta.content:
                    continue
                now = time.perf_counter()
                (ttft if first else itl).append(1e3 * (now - last))
                first, last = False, now
            e2e.append(1e3 * (time.perf_counter() - began))

    began = start = time.perf_counter()
    await asyncio.gather(*[worker() for _ in range(streams)])
    took = time.perf_counter() - began
    print(json.dumps({
        "ttft_ms": {"p50": quantile(ttft, .5), "p99": quantile(ttft, .99)},
        "itl_ms": {"p50": quantile(itl, .5), "p99": quantile(itl, .99)},
        "e2e_ms": {"p50": quantile(e2e, .5), "p99": quantile(e2e, .99)}, "requests_per_s": len(e2e) / took,
    }))


asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:6]), float(sys.argv[6])))
