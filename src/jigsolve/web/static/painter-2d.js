// Paints pieces where there is no graphics processor. What does not move is painted once and kept; what moves is copied
// pixel by pixel, which is several times quicker than asking the browser for thousands of small pictures.

import { LIFT } from "./motion.js";

const MOST_COPIED = 12e6; // Pixels of all pieces at their size on the screen, beyond which they are not kept at it.

export class PlainPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.kind = "2d";
    this.context = canvas.getContext("2d");
    this.layer = scratch();
    this.sized = scratch();
    this.layerKey = this.sizedKey = "";
  }

  load(image, motion) {
    this.motion = motion;
    this.image = image;
    this.sizedKey = "";
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
    if (!motion) return;
    const resting = time >= 1 || motion.moving === 0;
    this.keepStill(resting ? motion.count : motion.count - motion.moving, view, gap);
    if (!resting && this.sizeUp(view)) {
      this.copyMoving(time, view, gap);
    } else {
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.drawImage(this.layer.canvas, 0, 0);
      if (!resting) this.paintMoving(time, view, gap);
    }
    if (compare > 0 && this.original) this.paintOriginal(view, compare);
  }

  // Paint the pieces that lie still to a layer of their own, unless they are there already.
  keepStill(count, view, gap) {
    const { canvas, layer, motion } = this;
    const key = [count, view.x, view.y, view.cellWidth, view.cellHeight, gap, canvas.width, canvas.height].join();
    if (key === this.layerKey) return;
    this.layerKey = key;
    layer.canvas.width = canvas.width;
    layer.canvas.height = canvas.height;
    for (let index = 0; index < count; index++) {
      const piece = motion.order[index];
      this.put(layer, piece, motion.to[2 * piece], motion.to[2 * piece + 1], 1 - gap, view);
    }
    this.still = null;
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
    const { canvas, image, motion } = this;
    const left = Math.round(view.x + (x + 0.5 - size / 2) * view.cellWidth);
    const top = Math.round(view.y + (y + 0.5 - size / 2) * view.cellHeight);
    // Whole pixels, so that neighbours leave no seam.
    const right = Math.round(view.x + (x + 0.5 + size / 2) * view.cellWidth);
    const bottom = Math.round(view.y + (y + 0.5 + size / 2) * view.cellHeight);
    if (right <= 0 || bottom <= 0 || left >= canvas.width || top >= canvas.height) return;
    const width = image.width / motion.columns;
    const height = image.height / motion.rows;
    context.drawImage(image, (piece % motion.columns) * width, Math.floor(piece / motion.columns) * height, width, height, left, top, right - left, bottom - top);
  }

  // Have all pieces at their size on the screen, as pixels; whether they are few enough for that.
  sizeUp(view) {
    const { image, motion, sized } = this;
    const width = Math.max(1, Math.round(view.cellWidth));
    const height = Math.max(1, Math.round(view.cellHeight));
    if (width * height * motion.count > MOST_COPIED) return false;
    const key = `${width} ${height}`;
    if (key === this.sizedKey) return true;
    this.sizedKey = key;
    sized.canvas.width = width * motion.columns;
    sized.canvas.height = height * motion.rows;
    const [fromWidth, fromHeight] = [image.width / motion.columns, image.height / motion.rows];
    for (let piece = 0; piece < motion.count; piece++) {
      const column = piece % motion.columns;
      const row = Math.floor(piece / motion.columns);
      sized.drawImage(image, column * fromWidth, row * fromHeight, fromWidth, fromHeight, column * width, row * height, width, height);
    }
    this.pixels = new Uint32Array(sized.getImageData(0, 0, sized.canvas.width, sized.canvas.height).data.buffer);
    this.pixelWidth = width;
    this.pixelHeight = height;
    return true;
  }

  copyMoving(time, view, gap) {
    const { canvas, context, layer, motion } = this;
    if (!this.still) {
      this.still = new Uint32Array(layer.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
      this.frame = context.createImageData(canvas.width, canvas.height);
    }
    const target = new Uint32Array(this.frame.data.buffer);
    target.set(this.still);
    const here = [0, 0, 0];
    for (let index = motion.count - motion.moving; index < motion.count; index++) {
      const piece = motion.order[index];
      motion.at(piece, time, here);
      this.copy(target, piece, here[0], here[1], 1 - gap + LIFT * here[2], view);
    }
    context.putImageData(this.frame, 0, 0);
  }

  // Copy one piece, enlarged as it is lifted, into a frame of pixels.
  copy(target, piece, x, y, size, view) {
    const { canvas, motion, pixels, pixelWidth, pixelHeight } = this;
    const width = Math.max(1, Math.round(size * pixelWidth));
    const height = Math.max(1, Math.round(size * pixelHeight));
    const left = Math.round(view.x + (x + 0.5) * view.cellWidth - width / 2);
    const top = Math.round(view.y + (y + 0.5) * view.cellHeight - height / 2);
    const stride = pixelWidth * motion.columns;
    const home = Math.floor(piece / motion.columns) * pixelHeight * stride + (piece % motion.columns) * pixelWidth;
    const step = Math.floor((pixelWidth / width) * 65536);
    const first = Math.max(0, -left);
    const last = Math.min(width, canvas.width - left);
    for (let line = Math.max(0, -top); line < height && top + line < canvas.height; line++) {
      const source = home + Math.floor((line * pixelHeight) / height) * stride;
      const begin = (top + line) * canvas.width + left;
      for (let across = first; across < last; across++) {
        const pixel = pixels[source + ((across * step) >> 16)];
        if (pixel >>> 24) target[begin + across] = pixel; // What is transparent hides nothing.
      }
    }
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

// A canvas beside the screen, kept where its pixels can be read.
function scratch() {
  return document.createElement("canvas").getContext("2d", { willReadFrequently: true });
}
