// Choosing a picture and how to cut it, with a preview of the cut.

import * as api from "./api.js";
import { announce, byId } from "./page.js";

const USUAL_PIECES = 340;
const LEAST_SIZE = 6;
const MOST_TILES_SHOWN = 500;
const TIFF = [[0x49, 0x49, 0x2a, 0x00], [0x4d, 0x4d, 0x00, 0x2a]];

export class SetupView {
  constructor(onCreated) {
    this.onCreated = onCreated;
    this.limits = null;
    this.files = [];
    this.sample = null;
    this.image = null; // What is previewed.
    this.tiles = [];
    this.choice = 0; // Grows with every choice, so that a slow one does not overtake a later one.
    this.listen();
    this.begin();
  }

  async begin() {
    try {
      const about = await api.about();
      this.limits = about.limits;
      byId("samples").replaceChildren(...about.samples.map((sample) => this.sampleButton(sample)));
      if (!this.files.length) await this.chooseSample(about.samples[0].name);
    } catch (error) {
      this.problem(error.message);
    }
  }

  sampleButton({ name, title }) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.sample = name;
    button.setAttribute("aria-pressed", "false");
    const image = document.createElement("img");
    image.src = `/api/samples/${name}`;
    image.alt = "";
    const label = document.createElement("span");
    label.textContent = title;
    button.append(image, label);
    button.addEventListener("click", () => this.chooseSample(name));
    return button;
  }

  problem(text) {
    byId("problem").textContent = text;
    byId("problem").hidden = !text;
  }

  // Choosing

  async chooseSample(name) {
    const choice = this.choosing();
    for (const button of byId("samples").children) button.setAttribute("aria-pressed", String(button.dataset.sample === name));
    try {
      const image = await api.bitmap(`/api/samples/${name}`);
      if (choice !== this.choice) return;
      this.take([], name, image, []);
    } catch (error) {
      this.problem(error.message);
    }
  }

  async chooseFiles(list) {
    const files = [...list];
    if (!files.length) return;
    const choice = this.choosing();
    try {
      this.check(files);
      const tiles = files.length > 1 ? await Promise.all(files.slice(0, MOST_TILES_SHOWN).map(opened)) : [];
      const image = files.length === 1 ? await opened(files[0]) : null;
      if (choice === this.choice) this.take(files, null, image, tiles);
    } catch (error) {
      if (choice !== this.choice) return;
      this.problem(error.message);
      this.loading = false;
      this.showCount();
    }
  }

  // From now on until the picture is there, nothing can be solved.
  choosing() {
    this.loading = true;
    byId("solve").disabled = true;
    return ++this.choice;
  }

  check(files) {
    const bytes = files.reduce((total, file) => total + file.size, 0);
    if (this.limits && bytes > this.limits.upload_bytes) {
      const megabytes = (size) => `${(size / 2 ** 20).toFixed(0)} MB`;
      throw new Error(`${named(files)} of ${megabytes(bytes)} is more than the ${megabytes(this.limits.upload_bytes)} allowed here.`);
    }
    if (this.limits && files.length > this.limits.pieces) {
      throw new Error(`${files.length} tiles are more than the ${this.limits.pieces} allowed here.`);
    }
  }

  take(files, sample, image, tiles) {
    this.loading = false;
    this.files = files.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
    this.sample = sample;
    this.image = image;
    this.tiles = tiles;
    this.problem("");
    for (const button of byId("samples").children) button.setAttribute("aria-pressed", String(button.dataset.sample === sample));
    byId("chosen").textContent = sample ? "or drop one anywhere on this page; several files are tiles" : named(files);
    if (sample) document.querySelector("[name=source][value=picture]").checked = true;
    if (files.length > 1) this.offerColumns(files.length);
    else if (image) this.offerSizes(image);
    this.show();
    announce(sample ? "Sample chosen" : `${named(files)} chosen`);
  }

  offerSizes({ width, height }) {
    const most = Math.max(LEAST_SIZE, Math.min(256, Math.floor(Math.min(width, height) / 2)));
    const usual = Math.round(Math.sqrt((width * height) / USUAL_PIECES));
    byId("size").min = Math.min(LEAST_SIZE, most);
    byId("size").max = most;
    byId("size").value = byId("size-number").value = Math.min(most, Math.max(LEAST_SIZE, usual));
  }

  offerColumns(count) {
    const divisors = Array.from({ length: count }, (_, index) => index + 1).filter((number) => count % number === 0);
    const near = divisors.reduce((best, one) => (Math.abs(one - Math.sqrt(count * 1.2)) < Math.abs(best - Math.sqrt(count * 1.2)) ? one : best));
    byId("columns").replaceChildren(...divisors.map((number) => new Option(`${number} × ${count / number}`, number, number === near, number === near)));
  }

  get source() {
    return this.files.length > 1 ? "tiles" : document.querySelector("[name=source]:checked").value;
  }

  get detects() {
    return this.source === "puzzle" && byId("detect").checked;
  }

  // Showing

  show() {
    const { source } = this;
    byId("source-field").hidden = source === "tiles";
    byId("size-field").hidden = source === "tiles";
    byId("columns-field").hidden = source !== "tiles";
    byId("detect-field").hidden = source !== "puzzle";
    byId("source-note").textContent =
      source === "puzzle"
        ? "Its pieces lie in the wrong places of a grid. Nobody but you knows the answer."
        : "It is cut and shuffled here, so the page can tell how right the answer is.";
    for (const id of ["size", "size-number"]) byId(id).disabled = this.detects;
    this.showCount();
    this.paint();
  }

  showCount() {
    const count = byId("count");
    const { image } = this;
    const size = Number(byId("size-number").value);
    let text = "";
    let over = false;
    if (this.detects) {
      text = "Seams tell it, as a rule.";
    } else if (image && size >= 1) {
      const columns = Math.floor(image.width / size);
      const rows = Math.floor(image.height / size);
      const pieces = columns * rows;
      const most = this.limits?.pieces ?? Infinity;
      over = pieces < 1 || pieces > most;
      text = `${pieces.toLocaleString("en")} pieces · ${columns} × ${rows}`;
      if (pieces < 1) text = "Larger than the picture";
      else if (over) text += `: at most ${most.toLocaleString("en")} here`;
    }
    count.textContent = text;
    count.classList.toggle("over", over);
    byId("solve").disabled = over || this.loading || !(this.files.length || this.sample);
  }

  paint() {
    const canvas = byId("preview");
    const ratio = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    const context = canvas.getContext("2d");
    const hint = byId("preview-hint");
    const nothing = !this.image && !this.tiles.length;
    hint.hidden = !nothing;
    hint.textContent = this.files.length ? "This browser cannot show this format; jigsolve can read it" : "Drop a picture here";
    if (nothing) return canvas.setAttribute("aria-label", "No preview");
    if (this.tiles.length) this.paintTiles(canvas, context);
    else this.paintCut(canvas, context);
  }

  paintCut(canvas, context) {
    const { image } = this;
    const scale = Math.min(canvas.width / image.width, canvas.height / image.height) * 0.94;
    const left = (canvas.width - image.width * scale) / 2;
    const top = (canvas.height - image.height * scale) / 2;
    const size = Number(byId("size-number").value);
    const columns = Math.floor(image.width / size);
    const rows = Math.floor(image.height / size);
    context.imageSmoothingQuality = "high";
    if (this.detects || !(columns * rows >= 1)) {
      context.drawImage(image, left, top, image.width * scale, image.height * scale);
      return canvas.setAttribute("aria-label", `The picture, ${image.width} by ${image.height} pixels`);
    }
    // What is left over at the right and at the bottom stays faint.
    context.globalAlpha = 0.25;
    context.drawImage(image, left, top, image.width * scale, image.height * scale);
    context.globalAlpha = 1;
    const cell = size * scale;
    context.drawImage(image, 0, 0, columns * size, rows * size, left, top, columns * cell, rows * cell);
    context.strokeStyle = getComputedStyle(canvas.parentElement).backgroundColor;
    context.lineWidth = Math.max(1, cell * 0.045);
    context.globalAlpha = Math.min(1, cell / 7);
    context.beginPath();
    for (let column = 0; column <= columns; column++) line(context, left + column * cell, top, left + column * cell, top + rows * cell);
    for (let row = 0; row <= rows; row++) line(context, left, top + row * cell, left + columns * cell, top + row * cell);
    context.stroke();
    context.globalAlpha = 1;
    canvas.setAttribute("aria-label", `The picture cut into ${columns * rows} pieces`);
  }

  paintTiles(canvas, context) {
    const columns = Number(byId("columns").value);
    const rows = this.files.length / columns;
    const { width, height } = this.tiles[0] ?? { width: 1, height: 1 };
    const scale = Math.min(canvas.width / (columns * width), canvas.height / (rows * height)) * 0.94;
    const left = (canvas.width - columns * width * scale) / 2;
    const top = (canvas.height - rows * height * scale) / 2;
    this.tiles.forEach((tile, index) => {
      if (!tile) return;
      const x = left + (index % columns) * width * scale;
      const y = top + Math.floor(index / columns) * height * scale;
      context.drawImage(tile, x, y, width * scale * 0.96, height * scale * 0.96);
    });
    canvas.setAttribute("aria-label", `${this.files.length} tiles, ${columns} side by side`);
  }

  // Solving

  form() {
    const form = new FormData();
    for (const file of this.files) form.append("picture", file, file.name);
    if (this.sample) form.append("sample", this.sample);
    form.append("source", this.source);
    if (this.source === "tiles") form.append("columns", byId("columns").value);
    else if (!this.detects) form.append("piece_size", byId("size-number").value);
    form.append("preset", document.querySelector("[name=preset]:checked").value);
    form.append("seed", byId("seed").value);
    return form;
  }

  async submit() {
    if (!this.files.length && !this.sample) return this.problem("Choose a picture first.");
    this.problem("");
    byId("solve").disabled = true;
    byId("solve").textContent = "Sending…";
    try {
      const job = await api.create(this.form());
      this.onCreated(job.id);
    } catch (error) {
      this.problem(error.message);
    } finally {
      byId("solve").textContent = "Solve";
      byId("solve").disabled = false;
    }
  }

  listen() {
    const size = byId("size");
    const number = byId("size-number");
    size.addEventListener("input", () => { number.value = size.value; this.show(); });
    number.addEventListener("input", () => { size.value = number.value; this.show(); });
    byId("detect").addEventListener("change", () => this.show());
    byId("columns").addEventListener("change", () => this.show());
    for (const radio of document.querySelectorAll("[name=source]")) radio.addEventListener("change", () => this.show());
    byId("dice").addEventListener("click", () => { byId("seed").value = 1 + Math.floor(Math.random() * 9999); });
    byId("choose").addEventListener("click", () => byId("file").click());
    byId("file").addEventListener("change", (event) => {
      this.chooseFiles(event.target.files);
      event.target.value = ""; // So that the same file can be chosen again.
    });
    byId("form").addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    new ResizeObserver(() => this.paint()).observe(byId("preview-box"));
  }
}

// The picture in a file; null for one that only jigsolve can read.
async function opened(file) {
  try {
    return await createImageBitmap(file);
  } catch {
    const head = new Uint8Array(await file.slice(0, 4).arrayBuffer().catch(() => new ArrayBuffer(0)));
    if (TIFF.some((signature) => signature.every((byte, index) => head[index] === byte))) return null;
    throw new Error(`${file.name} is not a picture that can be read. PNG, JPEG, TIFF, WebP, BMP and GIF can.`);
  }
}

function named(files) {
  return files.length === 1 ? files[0].name : `${files.length} tiles`;
}

function line(context, fromX, fromY, toX, toY) {
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
}
