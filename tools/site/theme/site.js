// Search: titles of pages, their parts, and the names of the reference; the list of them is loaded when it is asked for first.
// Without this script the site lacks the search, and nothing else.
(function () {
  "use strict";
  const box = document.querySelector(".search");
  const input = box.querySelector("input");
  const list = box.querySelector(".found");
  const root = document.body.dataset.root;
  const most = 14;
  let asked = false;

  function load() {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");  // no fetch(): that does not work on pages opened as files
    script.src = root + "theme/names.js";
    script.onload = show;
    document.head.appendChild(script);
  }

  // The lower the better; -1: not at all.
  function rank(name, where, words) {
    let sum = 0;
    for (const word of words) {
      const at = name.indexOf(word);
      if (at < 0 && !where.includes(word)) return -1;
      sum += at < 0 ? 40 : at === 0 || !/[a-z0-9]/.test(name[at - 1]) ? 0 : 10;
    }
    return sum + name.length / 100;
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.hidden = words.length === 0 || !window.holdfastNames;
    if (list.hidden) return;
    const found = [];
    for (const [name, where, link] of window.holdfastNames) {
      const value = rank(name.toLowerCase(), where.toLowerCase(), words);
      if (value >= 0) found.push([value, name, where, link]);
    }
    found.sort((a, b) => a[0] - b[0]);
    list.replaceChildren(...found.slice(0, most).map(([, name, where, link]) => {
      const item = document.createElement("li"), anchor = document.createElement("a"), small = document.createElement("small");
      anchor.href = root + link;
      anchor.textContent = name;
      small.textContent = where;
      anchor.append(small);
      item.append(anchor);
      return item;
    }));
    if (!found.length) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "Nothing has this in its title.";
      list.append(none);
    }
  }

  function move(by) {
    const links = [...list.querySelectorAll("a")];
    const next = links.indexOf(document.activeElement) + by;
    (next < 0 ? input : links[Math.min(next, links.length - 1)] || input).focus();
  }

  box.hidden = false;
  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && document.activeElement === input) {
      const first = list.querySelector("a");
      if (first) first.click();
    } else if (event.key === "Escape") {
      list.hidden = true;
      input.focus();
    }
  });
  document.addEventListener("click", (event) => { if (!box.contains(event.target)) list.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|textarea/i.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
})();
