// Files for the reader: numbers as CSV, figures as SVG.

import { html } from "./elements.js";

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray",
  "stroke-linejoin", "font-family", "font-size", "font-weight", "opacity", "paint-order"];

function field(value) {
  if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
  // A spreadsheet would compute what begins like a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A table as CSV: as RFC 4180 has it, with all digits. */
export function asCsv({ columns, rows }) {
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

/** A chart as a file of its own: what the style sheet says of it is written into it. */
export function asSvg(chart, title) {
  const copy = chart.cloneNode(true);
  copy.querySelector(".cursor")?.remove();
  const [olds, news] = [chart, copy].map((one) => [...one.querySelectorAll("*")].filter((e) => !e.closest(".cursor")));
  olds.forEach((old, i) => {
    const style = getComputedStyle(old);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) news[i].setAttribute(name, value);
    }
    news[i].removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const name of ["tabindex", "class"]) copy.removeAttribute(name);
  const name = document.createElementNS(copy.namespaceURI, "title");
  name.textContent = title;
  const paper = document.createElementNS(copy.namespaceURI, "rect");
  const attributes = { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor };
  for (const [key, value] of Object.entries(attributes)) paper.setAttribute(key, value);
  copy.prepend(name, paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Hand a file to the reader. */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = html("a", { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
