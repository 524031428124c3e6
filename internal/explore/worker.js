// The simulator in a worker: the first message has the program, each other one a question.
"use strict";
importScripts("wasm_exec.js");
process.cwd = () => "/"; // where relative paths would start, if there were files
let begun = null;

async function begin({ module, own }) {
  const go = new Go();
  go.run(await WebAssembly.instantiate(module, go.importObject));
  const wrong = self.decodesim.begin(own);
  if (wrong) throw new Error(wrong);
}

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      begun = begin(data);
      return;
    }
    await begun;
    const text = self.decodesim.answer(data.path, data.query);
    if (text instanceof Error) throw text;
    if (typeof text !== "string") throw new Error("the simulator has ended, perhaps for want of memory");
    postMessage({ text });
  } catch (e) {
    postMessage({ error: e.message });
  }
};
