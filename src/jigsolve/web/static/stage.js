// The tray: shows pieces, lets them glide, zooms and moves the view.

import { Motion } from "./motion.js";
import { PlainPainter } from "./painter-2d.js";
import { GlPainter, hasGraphics } from "./painter-gl.js";

const MARGIN = 0.94; // How much of the tray the frame fills.
const GAP = 0.045; // Between pieces, until the puzzle is done.
const LEAST_GAP_CELL = 9; // Pixels of a cell below which a gap would only darken the picture.
const GAP_MS = 700;
const MOST_ZOOM = 40;
// `?painter=webgl` and `?painter=2d` in the address that the page was opened by decide by hand.
const asked = new URLSearchParams(location.search).get("painter");

export class Stage {
  constructor(canvas) {
    this.canvas = canvas;
    this.painter = newPainter(canvas);
    this.zoom = 1;
    this.panX = 0;
    this.panY = 0;
    this.compare = 0;
    this.gap = 1;
    this.gapTarget = 1;
    this.time = 1;
    this.duration = 0;
    this.painted = 0; // Frames, for who wants to know how smooth it is.
    this.onRest = () => {};
    this.scheduled = false;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  get gliding() {
    return this.time < 1;
  }

  load(image, rows, columns, pieceWidth, pieceHeight) {
    this.rows = rows;
    this.columns = columns;
    this.pieceWidth = pieceWidth;
    this.pieceHeight = pieceHeight;
    this.motion = new Motion(rows, columns);
    this.painter.load(image, this.motion);
    this.time = 1;
    this.resize();
  }

  loadOriginal(image) {
    this.painter.loadOriginal(image);
    this.schedule();
  }

  // Let the pieces glide to an arrangement within so many milliseconds.
  glide(grid, duration) {
    this.motion.aim(grid, this.time);
    this.painter.aim();
    this.duration = this.motion.moving ? duration : 0;
    this.time = this.duration > 0 ? 0 : 1;
    this.begun = performance.now();
    this.schedule();
  }

  // Whether the pieces lie apart or have closed up.
  setApart(apart) {
    if (this.gapTarget === Number(apart)) return;
    this.gapTarget = Number(apart);
    this.gapFrom = this.gap;
    this.gapBegun = performance.now();
    this.schedule();
  }

  setCompare(share) {
    this.compare = share;
    this.schedule();
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame((now) => {
      this.scheduled = false;
      this.tick(now);
    });
  }

  tick(now) {
    if (!this.motion) return;
    const wasGliding = this.gliding;
    if (wasGliding) this.time = Math.min(1, Math.max(0, (now - this.begun) / this.duration));
    if (this.gap !== this.gapTarget) {
      const share = Math.min(1, Math.max(0, (now - this.gapBegun) / GAP_MS));
      this.gap = share === 1 ? this.gapTarget : this.gapFrom + (this.gapTarget - this.gapFrom) * share * share * (3 - 2 * share);
    }
    const view = this.view();
    const gap = Math.min(view.cellWidth, view.cellHeight) < LEAST_GAP_CELL * devicePixelRatio ? 0 : GAP * this.gap;
    this.painter.paint(this.time, view, gap, this.compare);
    this.painted += 1;
    if (wasGliding && !this.gliding) this.onRest();
    if (this.gliding || this.gap !== this.gapTarget) this.schedule();
  }

  // Where cell (0, 0) begins and how large a cell is, in device pixels.
  view() {
    const { canvas, columns, rows, pieceWidth, pieceHeight } = this;
    const fit = Math.min(canvas.width / (columns * pieceWidth), canvas.height / (rows * pieceHeight)) * MARGIN;
    const cellWidth = fit * this.zoom * pieceWidth;
    const cellHeight = fit * this.zoom * pieceHeight;
    return {
      x: (canvas.width - cellWidth * columns) / 2 + this.panX * canvas.width,
      y: (canvas.height - cellHeight * rows) / 2 + this.panY * canvas.height,
      cellWidth,
      cellHeight,
    };
  }

  // Zoom by a factor, keeping what lies under a point of the canvas (shares of its size) where it is.
  zoomBy(factor, x = 0.5, y = 0.5) {
    const zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    const ratio = zoom / this.zoom;
    this.panX = (this.panX + 0.5 - x) * ratio + x - 0.5;
    this.panY = (this.panY + 0.5 - y) * ratio + y - 0.5;
    this.zoom = zoom;
    this.pan(0, 0);
  }

  pan(x, y) {
    const most = (this.zoom - 1) / 2 + 0.1 * Math.min(1, this.zoom - 1);
    this.panX = Math.min(most, Math.max(-most, this.panX + x));
    this.panY = Math.min(most, Math.max(-most, this.panY + y));
    this.schedule();
  }

  fit() {
    this.zoom = 1;
    this.panX = this.panY = 0;
    this.schedule();
  }

  resize() {
    const { canvas } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    if (this.motion) this.tick(performance.now()); // At once: a resized canvas is empty.
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoomBy(Math.exp(-event.deltaY / 400), (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const box = canvas.getBoundingClientRect();
      if (pointers.size === 2) {
        const [other] = [...pointers.values()].filter((pointer) => pointer.pointerId !== event.pointerId);
        const distance = (pointer) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY);
        this.zoomBy(distance(event) / Math.max(1, distance(before)), ((event.clientX + other.clientX) / 2 - box.left) / box.width, ((event.clientY + other.clientY) / 2 - box.top) / box.height);
      } else {
        this.pan((event.clientX - before.clientX) / box.width, (event.clientY - before.clientY) / box.height);
      }
      pointers.set(event.pointerId, event);
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => pointers.delete(event.pointerId));
    canvas.addEventListener("dblclick", () => (this.zoom > 1 ? this.fit() : this.zoomBy(2.5)));
    canvas.addEventListener("keydown", (event) => {
      const act = {
        "+": () => this.zoomBy(1.4), "=": () => this.zoomBy(1.4), "-": () => this.zoomBy(1 / 1.4), "0": () => this.fit(),
        ArrowLeft: () => this.pan(0.1, 0), ArrowRight: () => this.pan(-0.1, 0), ArrowUp: () => this.pan(0, 0.1), ArrowDown: () => this.pan(0, -0.1),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }
}

function newPainter(canvas) {
  if (asked === "webgl" || (asked !== "2d" && hasGraphics())) {
    try {
      return new GlPainter(canvas);
    } catch {
      // Without it, then.
    }
  }
  return new PlainPainter(canvas);
}
