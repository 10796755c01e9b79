// SPDX-License-Identifier: BSD-2-Clause
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");

  const rows = [...document.querySelectorAll("tr.clause")].map((tr) => ({
    tr,
    v: tr.dataset.v ?? "PASS",
    l: tr.cells[2].textContent.trim(),
    c: tr.cells[3].textContent.trim(),
    words: null,
    evidence: null,
  }));
  const byId = new Map(rows.map((row) => [row.tr.id, row]));

  // The name of a clause opens its row.
  const opener = (tr) => tr.cells[0].querySelector("a");

  // The address is what a reader sends to another: #TARGET, and behind a question mark the filters.
  const target = () => {
    try {
      return decodeURIComponent(location.hash.slice(1).split("?")[0]);
    } catch {
      return "";
    }
  };
  const link = (id) => "#" + encodeURIComponent(id).replaceAll("%3A", ":").replaceAll("%2F", "/");
  const address = (id) => {
    const query = filters().toString();
    history.replaceState(null, "", link(id) + (query && "?" + query));
  };

  // What a family of rows demands stands above them.
  const family = (row) => row.tr.parentElement.querySelector("tr.family");

  // Lines that clauses share are packed once: here each gets its number and its time.
  const unfold = (texts, markup, lines, times) => () => {
    const line = lines.split(" ").values();
    const time = times.split("\n").values();
    let number = 0;
    return markup.replaceAll("\x01", () => {
      const [text, at] = line.next().value.split(":");
      return texts[text]
        .replace("\x01", () => { number = at ? Number(at) : number + 1; return number; })
        .replace("\x02", () => time.next().value);
    });
  };

  // Five digits of base 85 are four bytes; the last may be fewer. It is Python's, with "," for "<".
  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";
  const digits = new Uint8Array(128);
  [...DIGITS].forEach((digit, at) => { digits[digit.charCodeAt(0)] = at; });
  const bytes = (text) => {
    const groups = Math.ceil(text.length / 5);
    const whole = text.padEnd(5 * groups, "~");
    const view = new DataView(new ArrayBuffer(4 * groups));
    for (let group = 0; group < groups; group += 1) {
      let word = 0;
      for (let at = 5 * group; at < 5 * group + 5; at += 1) word = 85 * word + digits[whole.charCodeAt(at)];
      view.setUint32(4 * group, word);
    }
    return view.buffer.slice(0, 4 * groups - (whole.length - text.length));
  };

  const bundles = new Map();
  const unpack = (number) => {
    if (!bundles.has(number)) {
      bundles.set(number, (async () => {
        const packed = document.getElementById("bundle:" + number).textContent.trim();
        const stream = new Blob([bytes(packed)]).stream().pipeThrough(new DecompressionStream("deflate"));
        const parts = (await new Response(stream).text()).split("\0");
        const texts = parts.pop().split("\x03");
        const ids = parts.filter((_, at) => at % 4 === 0);
        return new Map(ids.map((id, at) => [id, unfold(texts, ...parts.slice(4 * at + 1, 4 * at + 4))]));
      })());
    }
    return bundles.get(number);
  };

  const show = async (element, bundle, name) => {
    try {
      // The markup was escaped when the report was made, as all of this page was.
      element.innerHTML = (await unpack(bundle)).get(name)();
    } catch (error) {
      element.textContent = "This browser cannot unpack it (" + error.message +
        "). events.jsonl.zst, beside this report, has it.";
    }
  };

  const close = (row) => {
    row.evidence.remove();
    row.evidence = null;
    row.tr.classList.remove("opened");
    opener(row.tr).setAttribute("aria-expanded", "false");
    if (target() === row.tr.id) address("");
  };

  const open = async (row) => {
    if (row.evidence || row.tr.dataset.b === undefined) return;
    const tr = document.createElement("tr");
    const td = document.createElement("td");
    tr.className = "evidence";
    td.colSpan = row.tr.cells.length;
    tr.append(td);
    row.evidence = tr;
    row.tr.after(tr);
    row.tr.classList.add("opened");
    opener(row.tr).setAttribute("aria-expanded", "true");
    await show(td, row.tr.dataset.b, row.tr.id.slice("clause:".length));
    const above = family(row);
    if (above) td.prepend(above.querySelector("p").cloneNode(true));
  };

  const follow = () => {
    const id = target();
    const row = byId.get(id);
    const query = location.hash.split("?")[1];
    if (query !== undefined) restore(new URLSearchParams(query));
    if (row) {
      if (row.tr.hidden) reset();
      open(row);
      row.tr.scrollIntoView({ block: "center" });
    } else if (query !== undefined) {
      (document.getElementById(id) || form).scrollIntoView();
    }
    if (query !== undefined || String(filters())) address(id);
  };

  const copy = async (button) => {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (button) {
      copy(button);
      return;
    }
    const tr = event.target.closest("tr.clause");
    const anchor = event.target.closest("a");
    if (!tr || (anchor && anchor !== opener(tr))) return;
    if (!anchor && String(getSelection())) return;
    event.preventDefault();
    const row = byId.get(tr.id);
    if (row.evidence) {
      close(row);
    } else {
      open(row);
      address(row.tr.id);
    }
  });

  const packed = [...document.querySelectorAll("details.sentences")];
  const read = async (details) => {
    if (!details.open || details.dataset.b === undefined) return;
    const body = document.createElement("div");
    const bundle = details.dataset.b;
    delete details.dataset.b;
    details.append(body);
    await show(body, bundle, details.querySelector("code").textContent);
  };
  for (const details of packed) {
    details.addEventListener("toggle", () => read(details));
    read(details);
  }

  // What a square of a picture demands is in the matrix.
  document.addEventListener("mouseover", (event) => {
    const square = event.target.closest(".squares a:not([title])");
    const row = square && byId.get(decodeURIComponent(square.hash.slice(1)));
    if (!row) return;
    const above = family(row);
    const said = [above && above.querySelector("p"), row.tr.cells[1].querySelector("p")];
    square.title = row.v + ": " + said.map((p) => p ? p.textContent : "").join(" ").trim();
  });

  // The strip is one stop of the tab key: the arrow keys go along it.
  const strip = document.querySelector("svg.strip");
  if (strip) {
    const ticks = [...strip.querySelectorAll("a")];
    const go = (tick) => {
      ticks.forEach((each) => each.setAttribute("tabindex", each === tick ? "0" : "-1"));
      tick.focus();
    };
    strip.addEventListener("keydown", (event) => {
      const at = ticks.indexOf(document.activeElement);
      const last = ticks.length - 1;
      const to = { ArrowRight: Math.min(at + 1, last), ArrowLeft: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
      if (at < 0 || to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      go(ticks[to]);
    });
  }

  const form = document.querySelector("form.filters");
  const chips = [...form.querySelectorAll("button[data-facet]")];
  const selects = [...form.querySelectorAll("select")];
  const search = form.querySelector("input");
  const tally = form.querySelector("output");
  const nothing = document.querySelector("p.nothing");
  const groups = [...document.querySelectorAll("section.page")];

  const apply = () => {
    const pressed = new Set(chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.value));
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [level, check] = selects.map((select) => select.value);
    const counts = { v: new Map(), l: new Map(), c: new Map() };
    const count = (facet, value) => counts[facet].set(value, (counts[facet].get(value) || 0) + 1);
    let shown = 0;
    for (const row of rows) {
      if (wanted.length && row.words === null) {
        const above = family(row);
        row.words = [row.tr.id, above && above.textContent, row.tr.textContent].join(" ").toLowerCase();
      }
      const v = !pressed.size || pressed.has(row.v);
      const l = !level || row.l === level;
      const c = !check || row.c === check;
      const t = wanted.every((word) => row.words.includes(word));
      const visible = v && l && c && t;
      if (l && c && t) count("v", row.v);
      if (v && c && t) count("l", row.l);
      if (v && l && t) count("c", row.c);
      if (visible) shown += 1;
      if (row.tr.hidden === visible) {
        row.tr.hidden = !visible;
        if (row.evidence) row.evidence.hidden = !visible;
      }
    }
    for (const chip of chips) {
      chip.querySelector("b").textContent = counts.v.get(chip.dataset.value) || 0;
    }
    for (const select of selects) {
      for (const option of select.options) {
        if (option.value) {
          option.textContent = option.value + " (" + (counts[select.dataset.facet].get(option.value) || 0) + ")";
        }
      }
    }
    for (const group of groups) {
      let [some, any] = [false, false];
      for (const body of [...group.querySelector(".matrix").tBodies].reverse()) {
        const heading = body.className === "section";
        body.hidden = heading ? !some : !body.querySelector("tr.clause:not([hidden])");
        some = heading ? false : some || !body.hidden;
        any ||= some;
      }
      group.hidden = !any;
    }
    tally.textContent = shown + " of " + rows.length;
    nothing.hidden = shown > 0;
  };

  const filters = () => {
    const query = new URLSearchParams();
    for (const chip of chips) if (chip.ariaPressed === "true") query.append("v", chip.dataset.value);
    for (const select of selects) if (select.value) query.set(select.dataset.facet, select.value);
    if (search.value.trim()) query.set("t", search.value.trim());
    return query;
  };

  const restore = (query) => {
    const pressed = query.getAll("v");
    chips.forEach((chip) => { chip.ariaPressed = String(pressed.includes(chip.dataset.value)); });
    selects.forEach((select) => {
      const value = query.get(select.dataset.facet) || "";
      select.value = [...select.options].some((option) => option.value === value) ? value : "";
    });
    search.value = query.get("t") || "";
    apply();
  };

  const reset = () => restore(new URLSearchParams());

  // Browsers count how often a page changes its address, so that is done when the typing rests.
  let typing = 0;
  const filtered = () => {
    apply();
    clearTimeout(typing);
    typing = setTimeout(() => address(target()), 250);
  };

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = chip.ariaPressed === "true" ? "false" : "true";
      filtered();
    });
  }
  form.addEventListener("input", filtered);
  form.addEventListener("submit", (event) => event.preventDefault());

  addEventListener("hashchange", follow);
  for (const row of rows) {
    const anchor = opener(row.tr);
    anchor.href = link(row.tr.id);
    if (row.tr.dataset.b !== undefined) anchor.setAttribute("aria-expanded", "false");
  }
  apply();
  follow();
})();
