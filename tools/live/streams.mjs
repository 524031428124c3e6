// Streams of chat completions with the openai package: node streams.mjs URL STREAMS REQUESTS TOKENS WORDS RATE.
//
// RATE requests begin in a second, but never more than STREAMS are under way. Prints one JSON object: latencies in milliseconds as this client sees them, TTFT from the call to the first token and
// ITL between chunks with text.
import OpenAI from "openai";

const [url, ...numbers] = process.argv.slice(2);
const [streams, requests, tokens, words, rate] = numbers.map(Number);
const client = new OpenAI({baseURL: url, apiKey: "none", maxRetries: 0, timeout: 600_000});
const ttft = [], itl = [], e2e = [];
let next = 0;

const start = performance.now();

async function worker() {
  while (next < requests) {
    const number = next++;
    await new Promise(go => setTimeout(go, start + 1e3 * number / rate - performance.now()));
    const prompt = `${String(number).padStart(7, "0")} ${"word ".repeat(words)}`;
    const began = performance.now();
    let last = began, first = true;
    const stream = await client.chat.completions.create({
      model: "m", messages: [{role: "user", content: prompt}], max_tokens: tokens, stream: true,
    });
    for await (const chunk of stream) {
      if (!chunk.choices[0]?.delta?.content) continue;
      const now = performance.now();
      (first ? ttft : itl).push(now - last);
      first = false;
      last = now;
    }
    e2e.push(performance.now() - began);
  }
}

function quantile(values, q) {
  values.sort((a, b) => a - b);
  return values[Math.max(0, Math.ceil(q * values.length) - 1)];
}

const of = values => ({p50: quantile(values, .5), p99: quantile(values, .99)});
await Promise.all(Array.from({length: streams}, worker));
const took = (performance.now() - start) / 1e3;
console.log(JSON.stringify({ttft_ms: of(ttft), itl_ms: of(itl), e2e_ms: of(e2e), requests_per_s: e2e.length / took}));
