// The page: an address becomes a state, a state a figure, and what the reader does a new state.

import { cell } from "./cells.js";
import { choices } from "./choices.js";
import { curves } from "./curves.js";
import { Site } from "./data.js";
import { asCsv, asSvg, save } from "./download.js";
import { brief, html } from "./elements.js";
import { normality } from "./normality.js";
import { shown } from "./numbers.js";
import { pair } from "./pairs.js";
import { ranks } from "./ranks.js";
import { format, nearestSize, parse } from "./state.js";

const VIEWS = { curves, cell, pair, ranks, normality };
const at = (id) => document.getElementById(id);
const figure = { site: null, state: null, model: null, plots: [], turn: 0 };

// -- state -----------------------------------------------------------------------------------------

const dataset = () => figure.site.dataset(figure.state.dataset);
const view = () => VIEWS[figure.state.view];

// The token of `lcdb explore` is in a cookie by now: links to figures do not carry it.
if (new URLSearchParams(location.search).has("token")) {
  history.replaceState(null, "", location.pathname + location.hash);
}

function follow() {
  const { state, lost } = parse(figure.site, location.hash);
  figure.state = state;
  notice(lost.length ? `This database does not have ${lost.map((one) => brief(one, 60)).join(", ")}; the nearest is shown.` : "");
  return render();
}

function change(part, isNew = false) {
  const moved = { ...figure.state, ...part };
  const before = figure.state;
  figure.state = parse(figure.site, format(moved)).state;
  notice("");
  const onlyN = Object.keys(part).every((name) => name === "n") && figure.model && !figure.model.none;
  if (onlyN && figure.state.view !== "cell") return pointed();
  history[isNew || before.view !== figure.state.view ? "pushState" : "replaceState"](null, "", format(figure.state));
  return render();
}

let later = 0;
/** Another n, or another row of the map: the cursor moves, and the figure stays. */
function pointed() {
  clearTimeout(later);
  later = setTimeout(() => history.replaceState(null, "", format(figure.state)), 200);
  figure.model.state = figure.state;
  figure.model.dataset = dataset();
  view().point(figure.model, figure.plots);
  const range = at("choose-n");
  if (range && document.activeElement !== range) form();
  reading();
  code();
}

// -- parts of the page -----------------------------------------------------------------------------

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
}

function nav() {
  const held = document.activeElement?.id;
  at("views").replaceChildren(...Object.entries(VIEWS).map(([name, one]) => (one.unavailable?.(dataset()) && name !== figure.state.view ? html("a", {
    id: `view-${name}`, role: "link", "aria-disabled": "true", title: one.unavailable(dataset()),
  }, one.label) : html("a", {
    href: format({ ...figure.state, view: name }), id: `view-${name}`,
    "aria-current": name === figure.state.view ? "page" : null,
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      change({ view: name }, true);
    },
  }, one.label))));
  if (held?.startsWith("view-")) at(held)?.focus();
}

function form() {
  const held = document.activeElement?.id;
  at("choices").replaceChildren(...choices(figure.site, dataset(), figure.state, view(), change));
  if (held?.startsWith("choose-")) at(held)?.focus();
}

function reading() {
  const { caption, note, columns, rows } = view().read(figure.model);
  const as = (content) => (typeof content === "object" ? [
    content.classes ? html("span", { class: `swatch ${content.classes}`, "aria-hidden": "true" }) : null, content.text,
    content.more ? html("small", {}, ` ${content.more}`) : null].filter(Boolean) : [String(content)]);
  const opens = rows.some((row) => row.opens);
  const body = rows.map((row) => html("tr", { "data-row": row.learner },
    ...row.cells.map((content, i) => html(i ? "td" : "th", i ? {} : { scope: "row" }, ...as(content))),
    row.opens ? html("td", { class: "open" }, html("button", {
      type: "button", class: "plain", "aria-label": `distribution of ${brief(row.learner)}`,
      onclick: () => change(row.opens, true),
    }, "distribution")) : null));
  at("reading").replaceChildren(
    ...(note ? [html("p", { class: "why" }, note)] : []),
    html("table", {}, html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...columns.map((text) => html("th", { scope: "col" }, text)), opens ? html("td") : null)),
      html("tbody", {}, ...body)));
}

function code() {
  at("code").querySelector("code").textContent = view().python(figure.model);
}

function numbers() {
  const box = at("numbers").querySelector(".scroll");
  if (!at("numbers").open || !figure.model || figure.model.none) return box.replaceChildren();
  const { columns, rows } = view().table(figure.model);
  const text = (value) => (typeof value === "number" ? (Number.isInteger(value) ? String(value) : shown(value, 6)) : brief(value, 60));
  return box.replaceChildren(html("table", {},
    html("thead", {}, html("tr", {}, ...columns.map((one) => html("th", { scope: "col" }, one)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map((value) => html("td", {}, text(value))))))));
}

async function copied(button, text, done) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = html("textarea", { class: "unseen" });
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  const before = button.textContent;
  button.textContent = done;
  setTimeout(() => { button.textContent = before; }, 1500);
}

function tools() {
  const { title } = view().title(figure.model);
  const button = (id, text, onclick) => html("button", { type: "button", id, onclick }, text);
  const several = figure.plots.length > 1;
  at("tools").replaceChildren(
    button("copy-python", "Copy the Python that gives this", (event) => copied(event.target, view().python(figure.model), "Copied")),
    button("copy-link", "Copy link", (event) => copied(event.target, new URL(format(figure.state), location.href).href, "Copied")),
    button("save-csv", "CSV", () => save(`${title}.csv`, "text/csv", asCsv(view().table(figure.model)))),
    ...figure.plots.map((plot) => {
      const name = plot.svg.dataset.chart;
      return button(`save-svg-${name}`, several ? `SVG: ${name}` : "SVG",
        () => save(`${title}${several ? ` ${name}` : ""}.svg`, "image/svg+xml", asSvg(plot.svg, title)));
    }));
}

// -- the figure ------------------------------------------------------------------------------------

function draw() {
  if (!figure.model || figure.model.none) return;
  const width = Math.max(280, Math.floor(at("charts").clientWidth));
  figure.plots = view().draw(figure.model, width);
  at("charts").replaceChildren(...figure.plots.map((plot) => {
    follows(plot);
    const box = html("figure", {}, plot.svg,
      plot.legend ? html("ul", { class: "legend" }, ...plot.legend.map(([name, text]) => html("li", {}, html("span", { class: `key ${name}` }), text))) : null,
      plot.caption ? html("figcaption", {}, plot.caption) : null);
    box.style.width = `${plot.width}px`;
    return box;
  }));
  view().point(figure.model, figure.plots);
}

/** The cursor follows the pointer and the arrow keys; a click or Enter opens the distribution. */
function follows(plot) {
  if (figure.state.view === "cell") return;
  plot.svg.setAttribute("tabindex", "0");
  plot.svg.setAttribute("role", "application");
  const place = (event) => {
    const box = plot.svg.getBoundingClientRect();
    return [(event.clientX - box.left) * (plot.width / box.width), (event.clientY - box.top) * (plot.height / box.height)];
  };
  const aim = (event) => {
    const [x, y] = place(event);
    const found = figure.state.view === "normality" ? view().nearest(figure.model, figure.plots, y) : {};
    const { sizes } = figure.site.dataset(found?.dataset ?? figure.state.dataset);
    const away = (n) => Math.abs(plot.x(n) - x);
    const n = sizes.reduce((best, one) => (away(one) < away(best) ? one : best), sizes[0]);
    step({ ...found, n });
  };
  plot.svg.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") aim(event); });
  plot.svg.addEventListener("click", (event) => {
    aim(event);
    if (event.pointerType === "touch") return; // the table below has buttons
    const found = view().nearest(figure.model, figure.plots, place(event)[1]);
    open(typeof found === "string" ? { one: found } : found);
  });
  plot.svg.addEventListener("keydown", (event) => keyed(event));
}

function step(part) {
  figure.state = parse(figure.site, format({ ...figure.state, ...part })).state;
  pointed();
}

function open(part) {
  if (part) change({ ...part, view: "cell" }, true);
}

function keyed(event) {
  const { sizes } = dataset();
  const i = sizes.indexOf(figure.state.n);
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -sizes.length, End: sizes.length };
  if (event.key in steps) {
    const n = sizes[Math.max(0, Math.min(sizes.length - 1, i + steps[event.key]))];
    step({ n });
  } else if (figure.state.view === "normality" && /^Arrow(Up|Down)$/.test(event.key)) {
    const { rows } = figure.model;
    const now = rows.findIndex((row) => row.dataset === dataset() && row.learner === figure.state.one);
    const row = rows[Math.max(0, Math.min(rows.length - 1, now + (event.key === "ArrowDown" ? 1 : -1)))];
    step({ dataset: row.dataset.key, one: row.learner, n: nearestSize(row.dataset.sizes, figure.state.n) });
  } else if (event.key === "Enter") {
    open({ one: figure.state.view === "normality" ? figure.state.one : view().read(figure.model).rows[0]?.opens?.one ?? figure.state.a });
  } else return;
  event.preventDefault();
  const { caption, rows } = figure.state.view === "cell" ? { caption: "", rows: [] } : view().read(figure.model);
  at("spoken").textContent = `${caption}: ${rows.map((row) => row.cells.slice(0, 2).map((one) => one.text ?? one).join(" ")).join(", ")}`;
}

async function render() {
  const turn = ++figure.turn;
  const wasInside = at("figure").contains(document.activeElement);
  nav();
  form();
  at("figure").setAttribute("aria-busy", "true");
  if (figure.shown !== figure.state.view) waiting();
  const partly = (model, how) => {
    if (turn !== figure.turn) return;
    figure.model = model;
    heading(how);
    draw();
  };
  try {
    const model = dataset().sizes.length
      ? await view().load(figure.site, dataset(), { ...figure.state }, partly)
      : { none: "Nothing of this dataset was computed yet." };
    if (turn !== figure.turn) return; // somebody chose something else meanwhile
    figure.model = model;
    figure.shown = figure.state.view;
    if (model.none) return nothing(model.none);
    heading();
    for (const id of ["code", "numbers"]) at(id).hidden = false;
    draw();
    reading();
    tools();
    code();
    numbers();
    performance.mark(`shown ${figure.state.view}`);
  } catch (error) {
    if (turn === figure.turn) nothing(error.message);
  } finally {
    if (turn === figure.turn) {
      at("figure").removeAttribute("aria-busy");
      // What had the focus may be gone: those who read on with keys go on at the figure.
      if (wasInside && document.activeElement === document.body) at("figure").focus({ preventScroll: true });
    }
  }
}

function heading(how = "") {
  const { title, subtitle } = view().title(figure.model);
  at("title").textContent = title;
  at("subtitle").textContent = [subtitle, how].filter(Boolean).join(" · ");
  document.title = `${title} · learning curves`;
}

/** What was shown is another figure: say that the next one is on its way. */
function waiting() {
  figure.model = null;
  nothing("Reading the numbers of this figure …", false);
}

function nothing(text, isAll = true) {
  figure.plots = [];
  at("title").textContent = view().label;
  at("subtitle").textContent = "";
  for (const id of ["charts", "reading", "tools"]) at(id).replaceChildren();
  for (const id of ["code", "numbers"]) at(id).hidden = true;
  at("charts").replaceChildren(html("p", { class: "none" }, text));
  if (isAll) performance.mark("nothing to show");
}

// -- light and dark --------------------------------------------------------------------------------

function theme() {
  const root = document.documentElement;
  const kept = { get: () => localStorage.getItem("theme"), set: (name) => localStorage.setItem("theme", name) };
  try {
    if (kept.get()) root.dataset.theme = kept.get();
  } catch { /* nothing is kept where that is forbidden */ }
  at("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try {
      kept.set(root.dataset.theme);
    } catch { /* as above */ }
  });
}

async function start() {
  theme();
  if (matchMedia("(max-width: 760px)").matches) at("panel").open = false;
  try {
    figure.site = await Site.open();
    if (!figure.site.datasets.length) throw new Error("this database holds no learning curves");
  } catch (error) {
    at("charts").append(html("p", { class: "none" }, `The page cannot be shown: ${error.message}`));
    return;
  }
  addEventListener("hashchange", follow);
  at("numbers").addEventListener("toggle", numbers);
  let width = 0;
  new ResizeObserver(() => {
    if (width !== at("charts").clientWidth) {
      width = at("charts").clientWidth;
      draw();
    }
  }).observe(at("charts"));
  await follow();
}

start();
