"use strict";

function copy(button) {
  const text = button.dataset.copy;
  const said = (what) => {
    button.textContent = what;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  const byHand = () => {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const ok = document.execCommand("copy");
    field.remove();
    button.focus();
    said(ok ? "Copied" : "Not copied");
  };
  if (navigator.clipboard) {
    navigator.clipboard.writeText(text).then(() => said("Copied"), byHand);
  } else {
    byHand();
  }
}

// differs: what is believed is not so, or not for long. Who is in doubt is not wrong.
function differs(rung) {
  if (rung.believed === "Absent" && rung.holder.includes("may act")) return true;
  return rung.true === "up" ? rung.believed === "Absent" || rung.believed === "" : rung.believed === "Present";
}

function cell(row, text, head) {
  const c = document.createElement(head ? "th" : "td");
  if (head) c.scope = "row";
  c.textContent = text;
  row.append(c);
}

function showRungs(body, rungs) {
  body.replaceChildren();
  for (const rung of rungs) {
    const row = document.createElement("tr");
    row.title = rung.key;
    cell(row, rung.name || rung.key, true);
    cell(row, rung.wanted ? "yes" : "no");
    cell(row, (rung.believed || "nothing") + (differs(rung) ? " ≠" : ""));
    cell(row, rung.true);
    cell(row, rung.holder || "nobody");
    if (differs(rung)) {
      row.className = "differs";
      row.cells[2].setAttribute("aria-label", rung.believed + ", which is not so");
    }
    body.append(row);
  }
  if (rungs.length === 0) {
    const row = document.createElement("tr");
    cell(row, "none");
    row.cells[0].colSpan = 5;
    body.append(row);
  }
}

function move(card, frames, at) {
  const frame = frames[at];
  const seconds = (frame.at / 1e9).toFixed(6);
  const what = card.querySelector(`tr[data-line="${frame.line}"]`);
  card.querySelector("output").textContent = `line ${frame.line}, ${seconds} s: ${what.cells[3].textContent}`;
  const slider = card.querySelector("input[type=range]");
  slider.setAttribute("aria-valuetext", `line ${frame.line} at ${seconds} seconds`);
  showRungs(card.querySelector(".beliefs tbody"), frame.rungs || []);
  card.querySelectorAll("tr[data-line]").forEach((row, i) => {
    row.classList.toggle("now", i === at);
    row.classList.toggle("later", i > at);
    if (i === at) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
  });
  card.querySelectorAll("g.mark").forEach((mark, i) => mark.classList.toggle("later", i > at && i < frames.length));
  const cursor = card.querySelector(".cursor");
  const step = Number(cursor.getAttribute("width"));
  cursor.setAttribute("transform", `translate(${at * step} 0)`);
}

function toggle(card, box) {
  const boxes = [...card.querySelectorAll(".choices input")];
  for (const other of boxes) if (other !== box) other.checked = true;
  const outcome = card.querySelector(".outcome");
  const passes = !box.checked && box.dataset.without === "passes";
  outcome.className = "outcome " + (passes ? "good" : "bad");
  if (box.checked) {
    outcome.textContent = `With all of them: breaks ${outcome.dataset.with}.`;
  } else if (passes) {
    outcome.textContent = "Without it: the run passes.";
  } else if (box.dataset.without === outcome.dataset.with) {
    outcome.textContent = `Without it: still breaks ${outcome.dataset.with}.`;
  } else {
    outcome.textContent = `Without it: breaks ${box.dataset.without} instead.`;
  }
}

document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", () => copy(button)));
document.querySelectorAll(".card").forEach((card) => {
  const frames = JSON.parse(card.querySelector(".frames").textContent) || [];
  const slider = card.querySelector("input[type=range]");
  if (frames.length > 0) {
    slider.addEventListener("input", () => move(card, frames, Number(slider.value)));
    move(card, frames, Number(slider.value));
  }
  card.querySelectorAll(".choices input").forEach((box) => box.addEventListener("change", () => toggle(card, box)));
});
