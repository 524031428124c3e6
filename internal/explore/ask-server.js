// Questions of the page go to the server that gave it.
"use strict";
window.ask = (() => {
  const tab = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
  return async (path, query, signal) => {
    const sent = new URLSearchParams(query);
    if (path !== "step") sent.set("tab", tab); // the newest run of a page is the only one
    const response = await fetch(path + "?" + sent, { signal, cache: "no-store" }).catch((e) => {
      throw e.name === "AbortError" ? e : new Error("decodesim explore has ended, or cannot be reached; " +
        "once it runs again, reload the page or move a control");
    });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
})();
