// Questions of the page are answered by the simulator itself, in two workers of the page: one says what binds a step,
// the other simulates. A worker hears nothing while it runs, so that a run is ended with its worker.
"use strict";
window.ask = (() => {
  const own = document.getElementById("own").textContent, longestS = 20;

  async function compiled() {
    const response = await fetch("decodesim.wasm.gz");
    if (!response.ok) throw new Error("decodesim.wasm.gz: " + response.status + " " + response.statusText);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return WebAssembly.compile(bytes); // the site has unpacked it
    const plain = new Response(bytes).body.pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(plain).arrayBuffer());
  }
  const program = compiled();

  const aborted = () => new DOMException("a newer question was asked", "AbortError");
  class Simulator {
    constructor(ends) {
      this.ends = ends; // a question that was given up ends the worker
      this.begin();
    }

    begin() {
      const worker = this.worker = new Worker("worker.js");
      this.current = this.next = null;
      worker.onmessage = ({ data }) => this.hear(data);
      worker.onerror = (e) => this.hear({ error: e.message || "the worker has failed" });
      program.then((module) => worker.postMessage({ module, own }), (e) => this.hear({ error: e.message }));
    }

    ask(path, query, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(aborted());
        if (this.broken) return reject(new Error(this.broken));
        const question = { path, query: String(query), resolve, reject };
        signal.addEventListener("abort", () => this.drop(question));
        if (this.next) this.next.reject(aborted());
        this.next = question;
        this.send();
      });
    }

    send() {
      if (this.current || !this.next) return;
      this.current = this.next;
      this.next = null;
      const { path, query } = this.current, own = this.current;
      program.then(() => {
        if (this.current !== own) return;
        own.timer = setTimeout(() => this.late(own), 1000 * longestS); // loading the program takes what it takes
        this.worker.postMessage({ path, query });
      }, () => {});
    }

    hear({ error, text }) {
      const question = this.current;
      if (error && !question) this.broken = error;
      if (!question) return;
      this.current = null;
      clearTimeout(question.timer);
      if (error) {
        question.reject(new Error(error));
        return this.again(); // a program that has failed once, as without memory, answers nothing more
      }
      question.resolve(JSON.parse(text));
      this.send();
    }

    late(question) {
      if (this.ends) {
        question.resolve({ error: { control: "requests", message: "the run took longer than " + longestS +
          " s; expected fewer or shorter requests" } });
      } else {
        question.reject(new Error("the simulator took longer than " + longestS + " s; move a control to ask again"));
      }
      this.again();
    }

    drop(question) {
      question.reject(aborted());
      if (this.next === question) this.next = null;
      else if (this.current === question && this.ends) this.again();
    }

    again() {
      const next = this.next;
      clearTimeout(this.current && this.current.timer);
      this.worker.terminate();
      this.begin();
      this.next = next;
      this.send();
    }
  }
  const simulators = { step: new Simulator(false), run: new Simulator(true) };
  return (path, query, signal) => simulators[path === "step" ? "step" : "run"].ask(path, query, signal);
})();
