// The explorer: the query of the URL is the state. ask() says what it means, and this draws it.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  let query = new URLSearchParams(location.search), asking = null, running = null, waiting = 0, changed = "", moved = "";
  let shape = "", known = new Map();
  const drawn = new Map();

  const make = (name, attributes, ...inside) => {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
    e.append(...inside);
    return e;
  };

  // Plots.
  function plot(id, p) {
    const mount = $(id), old = drawn.get(id);
    if (old && old.chart) old.chart.destroy();
    drawn.delete(id);
    const caption = mount.parentElement.querySelector("figcaption");
    caption.replaceChildren();
    mount.parentElement.hidden = !p;
    if (!p) return;
    p.curves ||= [];
    caption.append(p.title);
    if (p.note) caption.append(make("small", {}, p.note));
    mount.parentElement.setAttribute("role", "img");
    mount.parentElement.setAttribute("aria-label", window.plotWords(p));
    drawn.set(id, { p, width: mount.clientWidth, chart: p.curves.length ? window.drawPlot(p, mount, !!p.x.log, !!p.y.log) : null });
  }
  const redraw = () => [...drawn].forEach(([id, d]) => plot(id, d.p));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new ResizeObserver(() => {
    if ([...drawn].some(([id, d]) => d.width !== $(id).clientWidth)) redraw();
  }).observe($("results"));

  function facts(id, list) {
    $(id).replaceChildren(...(list || []).map((f) => {
      const value = make("dd", {}, f.value);
      if (f.note) value.append(make("small", {}, f.note));
      return make("div", {}, make("dt", {}, f.name), value);
    }));
  }

  const warn = (id, list) => $(id).replaceChildren(...list.map((w) => make("li", {}, w)));

  // Controls. They are made once for a scenario, so that the focus stays where it is.
  const pretty = (c, v) => c.choice || v === "" || isNaN(Number(v)) ? v : Number(v).toLocaleString("en-US", { maximumFractionDigits: 3 });

  const unit = (c, v) => v === "1" && c.single || c.unit;

  // One entry of the history has all that was done at a control, so that going back takes a control back.
  function move(key, value) {
    const c = known.get(key);
    changed = key;
    if (value === c.initial) query.delete(key); else query.set(key, value);
    address(key !== moved);
    moved = key;
    ask();
  }

  // A whole other state: from the list of scenarios, Reset, or the history.
  function go(to, push) {
    query = to;
    changed = moved = "";
    if (push) address(true);
    ask();
  }

  function address(push) {
    const text = query.toString();
    history[push ? "pushState" : "replaceState"](null, "", text ? "?" + text : location.pathname);
  }

  function control(c) {
    const id = "control-" + c.key;
    const said = make("output", { for: id, id: "value-" + c.key, "aria-live": "off" }); // the slider says it
    const input = c.choice ? make("select", { id }) : make("input", { id, type: "range", step: 1, min: 0 });
    input.setAttribute("aria-describedby", "note-" + c.key + " error-" + c.key);
    input.addEventListener(c.choice ? "change" : "input", () => {
      const now = known.get(c.key), value = c.choice ? input.value : now.values[Number(input.value)];
      said.textContent = c.choice ? "" : pretty(now, value);
      if (!c.choice) input.setAttribute("aria-valuetext", pretty(now, value) + " " + unit(now, value));
      $("note-" + c.key).textContent = unit(now, value);
      move(c.key, value);
    });
    return make("div", { class: "control" }, make("label", { for: id }, make("span", {}, c.label), said), input,
      make("small", { id: "note-" + c.key }), make("small", { id: "error-" + c.key, class: "error", role: "alert" }));
  }

  function build(x) {
    const scenarios = make("select", { id: "control-scenario", "aria-describedby": "error-scenario" });
    const names = x.scenarios.map((name) => make("option", { value: name }, name));
    scenarios.append(make("option", { value: "" }, x.own + ", as given"), ...names);
    scenarios.addEventListener("change", () =>
      go(new URLSearchParams(scenarios.value ? { scenario: scenarios.value } : {}), true));
    const groups = new Map([["Scenario", [make("div", { class: "control" },
      make("label", { for: "control-scenario" }, "Begin from"), scenarios,
      make("small", { id: "error-scenario", class: "error", role: "alert" }))]]]);
    for (const c of x.controls) {
      if (!groups.has(c.group)) groups.set(c.group, []);
      groups.get(c.group).push(control(c));
    }
    const reset = make("button", { type: "button" }, "Reset");
    reset.addEventListener("click", () =>
      go(new URLSearchParams(query.get("scenario") ? { scenario: query.get("scenario") } : {}), true));
    $("controls").replaceChildren(...[...groups].map(([name, inside]) =>
      make("fieldset", {}, make("legend", {}, name), ...inside)), make("div", {}, reset));
  }

  function show(x) {
    known = new Map(x.controls.map((c) => [c.key, c]));
    const now = x.controls.map((c) => c.key).join(" ");
    if (now !== shape) build(x);
    shape = now;
    $("control-scenario").value = x.scenario;
    $("name").textContent = x.scenario || x.own;
    for (const c of x.controls) {
      const input = $("control-" + c.key), options = c.values.join("\n");
      if (c.choice) {
        if (input.dataset.values !== options) input.replaceChildren(...c.values.map((v) => make("option", { value: v }, v)));
        input.value = c.value;
      } else {
        input.max = Math.max(0, c.values.length - 1);
        input.value = Math.max(0, c.values.indexOf(c.value));
        $("value-" + c.key).textContent = c.not ? "" : pretty(c, c.value);
        input.setAttribute("aria-valuetext", pretty(c, c.value) + " " + unit(c, c.value));
      }
      input.dataset.values = options;
      input.disabled = c.not !== "" || c.values.length === 0;
      $("note-" + c.key).textContent = c.not || unit(c, c.value);
    }
    complain("step", x.error);
    if (!x.explanation) {
      empty("There is no such deployment.");
      return false;
    }
    $("answer").textContent = x.answer;
    facts("step-facts", x.facts);
    warn("warnings", x.explanation.warnings || []);
    plot("roofline", x.roofline);
    plot("batches", x.batches);
    $("yaml").textContent = x.yaml;
    return true;
  }

  // Numbers of another state than that of the controls would mislead.
  function empty(why) {
    $("answer").textContent = why;
    $("yaml").textContent = "";
    facts("step-facts", []);
    warn("warnings", []);
    ["roofline", "batches"].forEach((id) => plot(id, null));
    unfelt("Nothing is simulated.");
  }
  function unfelt(why) {
    drawRun({});
    $("run-answer").textContent = why;
  }

  // Errors stand at their controls; those of none, at the one that was moved last.
  const complaints = { step: null, run: null };
  let felt = "", wrong = "";
  function complain(of, error) {
    complaints[of] = error || null;
    for (const e of document.querySelectorAll("[id^=error-]")) e.textContent = "";
    for (const e of document.querySelectorAll("[aria-invalid]")) e.removeAttribute("aria-invalid");
    const one = complaints.step || complaints.run;
    const key = one && ($("error-" + one.control) && one.control || changed);
    wrong = key && $("error-" + key) ? one.message : "";
    shorten();
    if (!one) return;
    ($("error-" + key) || $("error-")).textContent = one.message;
    const input = key && $("control-" + key);
    if (input) input.setAttribute("aria-invalid", "true");
  }

  // The top of the page has for the eye what is heard anyway: an error that is at a control out of sight, and on a phone
  // what users feel.
  function shorten() {
    $("felt").textContent = wrong || felt;
    $("felt").classList.toggle("wrong", wrong !== "");
  }

  // Asking. A newer question ends the one before.
  const lost = (e, say) => {
    if (e.name !== "AbortError") say("No answer: " + e.message + ".");
  };

  async function ask() {
    if (asking) asking.abort();
    if (running) running.abort();
    clearTimeout(waiting);
    const own = asking = new AbortController();
    try {
      const x = await window.ask("step", query, own.signal);
      if (own !== asking) return;
      complaints.run = null;
      if (show(x)) waiting = setTimeout(run, 120);
    } catch (e) {
      lost(e, empty);
    }
  }

  function drawRun(x) {
    facts("run-facts", x.facts);
    const said = [...$("warnings").children].map((e) => e.textContent); // of the step, above
    warn("run-warnings", (x.summary && x.summary.warnings || []).filter((w) => !said.includes(w)));
    felt = (x.facts || []).slice(0, 4).map((f) => f.name + " " + f.value).join(", ");
    shorten();
    plot("itl", x.itl);
    plot("ttft", x.ttft);
  }

  function tell(x) {
    drawRun(x);
    $("run-answer").textContent = x.answer || "Nothing was simulated.";
  }

  // A run that takes longer than the eye waits for has a first picture, by few requests. Others would only flicker.
  const firstMS = 250;
  async function run() {
    const own = running = new AbortController(), section = $("run-facts").parentElement;
    const began = performance.now();
    let early = 0;
    section.classList.add("busy");
    try {
      const first = await window.ask("first", query, own.signal);
      if (own !== running) return;
      if (first.answer) early = setTimeout(() => { if (own === running) tell(first); }, firstMS + began - performance.now());
      const x = await window.ask("run", query, own.signal);
      if (own !== running) return;
      complain("run", x.error);
      tell(x);
    } catch (e) {
      lost(e, unfelt);
    } finally {
      clearTimeout(early);
      if (own === running) section.classList.remove("busy");
    }
  }

  $("controls").addEventListener("submit", (e) => e.preventDefault());
  $("copy").addEventListener("click", async () => {
    const text = $("yaml").textContent, say = (words) => { $("copied").textContent = words; };
    if (!text) return say("There is nothing to copy.");
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      $("yaml").closest("details").open = true;
      getSelection().selectAllChildren($("yaml"));
      say("The browser does not let a page copy: it is selected below.");
    }
  });
  addEventListener("popstate", () => go(new URLSearchParams(location.search), false));
  ask();
})();
