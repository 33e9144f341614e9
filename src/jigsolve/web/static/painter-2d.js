// Paints pieces where there is no WebGL. What does not move is painted once and kept.

import { LIFT } from "./motion.js";

export class PlainPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.kind = "2d";
    this.context = canvas.getContext("2d");
    this.layer = document.createElement("canvas");
    this.layerKey = "";
  }

  load(image, motion) {
    this.motion = motion;
    this.image = image;
    this.aim();
  }

  loadOriginal(image) {
    this.original = image;
  }

  aim() {
    this.layerKey = "";
  }

  paint(time, view, gap, compare) {
    const { canvas, context, motion } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!motion) return;
    const resting = time >= 1 || motion.moving === 0;
    this.keepStill(resting ? motion.count : motion.count - motion.moving, view, gap);
    context.drawImage(this.layer, 0, 0);
    if (!resting) this.paintMoving(time, view, gap);
    if (compare > 0 && this.original) this.paintOriginal(view, compare);
  }

  // Paint the pieces that lie still to a layer of their own, unless they are there already.
  keepStill(count, view, gap) {
    const { canvas, layer, motion } = this;
    const key = [count, view.x, view.y, view.cellWidth, view.cellHeight, gap, canvas.width, canvas.height].join();
    if (key === this.layerKey) return;
    this.layerKey = key;
    layer.width = canvas.width;
    layer.height = canvas.height;
    const context = layer.getContext("2d");
    for (let index = 0; index < count; index++) {
      const piece = motion.order[index];
      this.put(context, piece, motion.to[2 * piece], motion.to[2 * piece + 1], 1 - gap, view);
    }
  }

  paintMoving(time, view, gap) {
    const { context, motion } = this;
    const here = [0, 0, 0];
    for (let index = motion.count - motion.moving; index < motion.count; index++) {
      const piece = motion.order[index];
      motion.at(piece, time, here);
      this.put(context, piece, here[0], here[1], 1 - gap + LIFT * here[2], view);
    }
  }

  put(context, piece, x, y, size, view) {
    const { image, motion } = this;
    const width = image.width / motion.columns;
    const height = image.height / motion.rows;
    const left = view.x + (x + 0.5 - size / 2) * view.cellWidth;
    const top = view.y + (y + 0.5 - size / 2) * view.cellHeight;
    // Whole pixels, so that neighbours leave no seam.
    const right = Math.round(left + size * view.cellWidth);
    const bottom = Math.round(top + size * view.cellHeight);
    const column = piece % motion.columns;
    const row = Math.floor(piece / motion.columns);
    context.drawImage(image, column * width, row * height, width, height, Math.round(left), Math.round(top), right - Math.round(left), bottom - Math.round(top));
  }

  paintOriginal(view, compare) {
    const { context, motion, original } = this;
    const width = view.cellWidth * motion.columns;
    context.save();
    context.beginPath();
    context.rect(0, 0, view.x + width * compare, this.canvas.height);
    context.clip();
    context.drawImage(original, view.x, view.y, width, view.cellHeight * motion.rows);
    context.restore();
  }
}
