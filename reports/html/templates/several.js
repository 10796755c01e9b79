// SPDX-License-Identifier: BSD-2-Clause
"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const only = document.getElementById("only");
  const pages = [...document.querySelectorAll("tbody.of")];
  const show = (body, open) => {
    body.hidden = !open;
    document.getElementById(body.dataset.by).setAttribute("aria-expanded", String(open));
  };
  for (const body of pages) {
    show(body, false);
    document.getElementById(body.dataset.by).addEventListener("click", () => show(body, body.hidden));
  }
  only.addEventListener("change", () => {
    for (const body of pages) {
      const differing = body.querySelector("tr.differs") !== null;
      for (const row of body.rows) row.hidden = only.checked && !row.classList.contains("differs");
      show(body, only.checked && differing);
    }
  });
})();
