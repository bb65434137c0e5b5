"use strict";
(() => {
  const all = (query, place = document) => [...place.querySelectorAll(query)];
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (name, text, of = "") => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (of) node.className = of;
    return node;
  };

  // Light and dark: the system's choice until somebody chooses.
  const theme = document.getElementById("theme");
  const dark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // The filter of the matrix also holds for the table of what was searched.
  const filter = document.getElementById("filter");
  const rows = all("#matrix tbody tr, #stats tbody tr");
  const scenarios = all("#matrix tbody tr").length;
  const sift = () => {
    const wanted = new Set(all("input[name=status]:checked", filter).map(box => box.value));
    const text = filter.elements.text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !(wanted.has(row.dataset.status) && row.dataset.name.includes(text));
      if (!row.hidden && row.closest("#matrix")) shown += 1;
    }
    document.getElementById("shown").textContent = shown === scenarios ? `${scenarios} shown` : `${shown} of ${scenarios} shown`;
  };
  filter.hidden = scenarios < 2;
  filter.addEventListener("input", sift);
  filter.addEventListener("submit", event => event.preventDefault());
  sift();

  // Any column of the statistics may sort them.
  const stats = document.getElementById("stats");
  all("thead th", stats).forEach((head, place) => {
    const button = make("button", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      all("thead th", stats).forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => {
        const text = row.children[place].textContent.replace(/[,×]/g, "").trim();
        return text === "" ? -1 : isNaN(text) ? text : Number(text);
      };
      const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      const body = stats.tBodies[0];
      body.append(...all("tr", body).sort((a, b) => order(value(a), value(b)) * (down ? -1 : 1)));
    });
  });

  // Stepping through one time line. Each step has a scene, and the rows say which ops are pending in it.
  const player = (play, { scenes, texts, start }) => {
    const buttons = all("button[data-step]", play);
    const slider = play.querySelector("input[type=range]");
    const scene = play.querySelector(".scene");
    const list = play.querySelector(".line");
    const fates = new Map(buttons.map(button => [button, button.querySelector(".fate")?.textContent]));
    let now = start;

    const boot = step => buttons[step].closest("li").boot;
    let number = -1;
    for (const item of list.children) {
      if (item.classList.contains("boot")) number += 1;
      item.boot = number;
    }

    const draw = shown => {
      const parts = [make("h5", shown.title)];
      const table = make("table");
      const head = table.createTHead().insertRow();
      for (const text of ["path", ...shown.heads]) {
        const cell = make("th", text);
        cell.scope = "col";
        head.append(cell);
      }
      const body = table.createTBody();
      for (const [path, ...rest] of shown.lines) {
        const differs = rest.pop();
        const row = body.insertRow();
        if (differs) row.className = "differs";
        const cell = make("th", (differs ? "! " : "") + texts[path]);
        cell.scope = "row";
        row.append(cell, ...rest.map(text => make("td", texts[text])));
      }
      if (shown.lines.length) parts.push(table);
      else parts.push(make("p", "Nothing is there."));
      if (shown.list) {
        parts.push(make("p", shown.list[0] + (shown.list[1].length ? ":" : ": nothing")));
        const items = make("ul");
        items.append(...shown.list[1].map(text => make("li", texts[text])));
        if (shown.list[1].length) parts.push(items);
      }
      scene.replaceChildren(...parts);
    };

    const go = (step, focus) => {
      now = Math.max(0, Math.min(scenes.length - 1, step));
      const shown = scenes[now];
      const pending = new Set(shown.pending);
      buttons.forEach((button, at) => {
        const current = at === now;
        button.tabIndex = current ? 0 : -1;
        if (current) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
        const waits = pending.has(Number(button.dataset.op ?? -1)) && boot(at) === boot(now);
        button.classList.toggle("waits", waits);
        const fate = button.querySelector(".fate");
        if (fate) fate.textContent = waits ? "pending" : fates.get(button);
      });
      slider.value = now;
      slider.setAttribute("aria-valuetext", shown.title);
      draw(shown);
      const top = now === 0 ? 0 : buttons[now].offsetTop - list.offsetTop;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 40) list.scrollTop = top - list.clientHeight / 2;
      if (focus) buttons[now].focus({ preventScroll: true });
    };

    const moves = { first: () => 0, back: () => now - 1, on: () => now + 1, last: () => scenes.length - 1, crash: () => start };
    const keys = { ArrowLeft: "back", ArrowUp: "back", ArrowRight: "on", ArrowDown: "on", Home: "first", End: "last", c: "crash" };
    all("[data-go]", play).forEach(button => button.addEventListener("click", () => go(moves[button.dataset.go]())));
    buttons.forEach((button, at) => button.addEventListener("click", () => go(at)));
    slider.addEventListener("input", () => go(Number(slider.value)));
    play.addEventListener("keydown", event => {
      const move = keys[event.key];
      if (!move || event.target === slider || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      go(moves[move](), event.target.closest(".line") !== null);
    });
    play.querySelector(".controls").hidden = false;
    scene.hidden = false;
    go(start);
  };
  // A closed counterexample is set up when it is opened: a report may have hundreds.
  for (const play of all(".play")) {
    const holder = play.closest("details");
    const setUp = () => { if (!play.dataset.ready) { play.dataset.ready = "yes"; player(play, data[play.dataset.cx]); } };
    if (holder.open) setUp();
    holder.addEventListener("toggle", () => { if (holder.open) setUp(); });
  }

  // A link to a closed counterexample opens it.
  const open = () => {
    const place = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (place && place.tagName === "DETAILS") { place.open = true; place.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();

  // Paper shows everything.
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); closed.forEach(one => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach(one => { one.open = false; }));

  for (const button of all(".copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "Copied";
    });
  }
})();
