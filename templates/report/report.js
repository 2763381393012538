(() => {
  "use strict";
  const all = (query) => [...document.querySelectorAll(query)];
  const by = (id) => document.getElementById(id);
  const nouns = { finding: "findings", row: "rows", cells: "", control: "controls", "not-run": "not looked at", check: "checks" };
  const items = all(".item");
  const boxes = all("#tools input[name=state]");
  const texts = new WeakMap();
  const text = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };

  const filter = () => {
    const words = by("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const states = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const family = by("family").value;
    const counts = {};
    for (const item of items) {
      const { kind, state } = item.dataset;
      const isShown = (!state || states.has(state)) && (!family || !state || item.dataset.family === family) &&
        words.every((word) => text(item).includes(word));
      item.hidden = !isShown;
      const count = (counts[kind] ||= [0, 0]);
      count[0] += isShown;
      count[1] += 1;
    }
    const parts = Object.entries(counts).filter(([kind]) => nouns[kind]);
    by("shown").textContent = "Shown: " + parts.map(([kind, [some, total]]) => `${some} of ${total} ${nouns[kind]}`).join(", ");
  };

  const reset = () => {
    by("search").value = "";
    by("family").value = "";
    for (const box of boxes) box.checked = true;
    filter();
  };

  const reveal = () => {
    const target = location.hash.length > 1 && by(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest(".item[hidden]")) reset();
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    const inside = target.querySelector(":scope > details");
    if (inside) inside.open = true;
    target.scrollIntoView();
  };

  // A heading at the top of the screen is not covered by the tools.
  const clear = () => {
    const isSticky = getComputedStyle(by("tools")).position === "sticky";
    document.documentElement.style.scrollPaddingTop = isSticky ? `${by("tools").offsetHeight + 12}px` : "";
  };

  const openAll = (isOpen) => {
    for (const each of all("main details")) if (!each.closest(".item[hidden]")) each.open = isOpen;
  };

  let timer = 0;
  by("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(filter, 150);
  });
  by("tools").addEventListener("change", filter);
  by("reset").addEventListener("click", reset);
  by("open").addEventListener("click", () => openAll(true));
  by("close").addEventListener("click", () => openAll(false));
  addEventListener("hashchange", reveal);
  addEventListener("resize", clear);
  by("tools").hidden = false;
  reset();
  clear();
  reveal();
})();
