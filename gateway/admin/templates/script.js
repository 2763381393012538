(() => {
  "use strict";
  const main = document.getElementById("main"), fresh = document.getElementById("fresh");
  const every = 3000;
  const isBusy = () => {
    const at = document.activeElement;
    return (main.contains(at) && at !== main && at.tagName !== "DIV") || [...main.querySelectorAll("textarea")].some((each) => each.value);
  };
  const refresh = async () => {
    if (!document.hidden && !isBusy()) {
      try {
        const answer = await fetch("main", { credentials: "same-origin", cache: "no-store" });
        if (answer.status === 401) { location.reload(); return; }
        if (!answer.ok) throw new Error(String(answer.status));
        const scrolled = [...main.querySelectorAll(".wide")].map((each) => each.scrollLeft);
        main.innerHTML = await answer.text();
        main.querySelectorAll(".wide").forEach((each, index) => { each.scrollLeft = scrolled[index] || 0; });
        fresh.textContent = "Fresh every three seconds.";
        fresh.className = "";
      } catch {
        fresh.textContent = "The gateway does not answer; what you see is old.";
        fresh.className = "state bad";
      }
    }
    setTimeout(refresh, every);
  };
  fresh.textContent = "Fresh every three seconds.";
  setTimeout(refresh, every);
})();
