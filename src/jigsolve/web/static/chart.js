// The course of best and mean cost, as it grows. Pointing at it shows the generation there.

const LEFT = 48;
const BOTTOM = 20;
const TOP = 6;
const RIGHT = 8;

export class Chart {
  constructor(box, onPick) {
    this.box = box;
    this.records = [];
    this.shown = null;
    this.svg = element("svg", { role: "img", "aria-label": "Cost by generation" });
    box.replaceChildren(this.svg);
    new ResizeObserver(() => this.schedule()).observe(box);
    const pick = (event) => {
      if (event.buttons !== 1 || this.records.length < 2) return;
      const inside = event.clientX - this.svg.getBoundingClientRect().left;
      const share = (inside - LEFT) / (this.width - LEFT - RIGHT);
      onPick(Math.min(1, Math.max(0, share)) * this.records.at(-1).number);
    };
    this.svg.addEventListener("pointerdown", pick);
    this.svg.addEventListener("pointermove", pick);
  }

  add(record) {
    this.records.push(record);
    this.schedule();
  }

  clear() {
    this.records = [];
    this.shown = null;
    this.schedule();
  }

  show(record) {
    this.shown = record;
    this.schedule();
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.paint();
    });
  }

  paint() {
    const { records, svg } = this;
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    if (!records.length || this.width === 0) return svg.replaceChildren();
    const last = Math.max(1, records.at(-1).number);
    const highest = records.reduce((most, one) => Math.max(most, one.mean_cost, one.best_cost), 0);
    const lowest = records.reduce((least, one) => Math.min(least, one.best_cost), highest);
    const floor = lowest < highest / 2 ? 0 : lowest - (highest - lowest) * 0.08;
    const x = (number) => LEFT + (number / last) * (this.width - LEFT - RIGHT);
    const y = (cost) => TOP + (1 - (cost - floor) / Math.max(1e-9, highest - floor)) * (this.height - TOP - BOTTOM);
    const line = (name) => records.map((one, index) => `${index ? "L" : "M"}${x(one.number).toFixed(1)} ${y(one[name]).toFixed(1)}`).join("");
    const bottom = this.height - BOTTOM;
    const parts = [];
    const refining = records.find((one) => one.stage === "refine");
    if (refining) {
      const begin = x(Math.max(0, refining.number - 1));
      parts.push(element("rect", { class: "refining", x: begin, y: TOP, width: Math.max(0, this.width - RIGHT - begin), height: bottom - TOP }));
      if (this.width - RIGHT - begin > 60) parts.push(text(begin + 6, TOP + 14, "refining", "start"));
    }
    for (const cost of [floor, (floor + highest) / 2, highest]) {
      parts.push(element("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y(cost), y2: y(cost) }));
      parts.push(text(LEFT - 8, y(cost) + 4, compact(cost), "end"));
    }
    parts.push(text(LEFT, this.height - 3, "0", "start"), text(this.width - RIGHT, this.height - 3, String(records.at(-1).number), "end"));
    const best = line("best_cost");
    parts.push(element("path", { class: "area", d: `${best}L${x(records.at(-1).number)} ${bottom}L${x(records[0].number)} ${bottom}Z` }));
    parts.push(element("path", { class: "mean", d: line("mean_cost") }), element("path", { class: "best", d: best }));
    if (this.shown) {
      const at = x(Math.min(last, this.shown.number));
      parts.push(element("line", { class: "now", x1: at, x2: at, y1: TOP, y2: bottom }));
      parts.push(element("circle", { class: "dot", cx: at, cy: y(this.shown.best_cost), r: 4.5 }));
    }
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", `Best cost from ${compact(records[0].best_cost)} to ${compact(records.at(-1).best_cost)} over ${records.at(-1).number} generations`);
  }
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function text(x, y, content, anchor) {
  const made = element("text", { x, y, "text-anchor": anchor });
  made.textContent = content;
  return made;
}

export function compact(number) {
  return number.toLocaleString("en", { maximumFractionDigits: number < 100 ? 1 : 0, notation: number >= 100000 ? "compact" : "standard" });
}
