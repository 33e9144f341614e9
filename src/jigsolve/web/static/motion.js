// Where every piece is while it glides: the one formula, for the painter without WebGL and for a glide cut short.
// The vertex shader in painter-gl.js has the same.

export const SPREAD = 0.55; // How much later the last piece sets out than the first, in units of one piece's journey.
export const ARC = 0.1; // How far a piece swerves, in units of its way.
export const LIFT = 0.22; // How much larger it seems in mid-air.

export function progress(time, delay) {
  const linear = Math.min(1, Math.max(0, time * (1 + SPREAD) - delay * SPREAD));
  return linear < 0.5 ? 4 * linear ** 3 : 1 - (-2 * linear + 2) ** 3 / 2;
}

// A number from 0 to 1 that is always the same for a piece, and without pattern.
export function chance(piece) {
  const value = Math.sin(piece * 12.9898 + 4.137) * 43758.5453;
  return value - Math.floor(value);
}

export class Motion {
  constructor(rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.count = rows * columns;
    this.from = new Float32Array(2 * this.count);
    this.to = new Float32Array(2 * this.count);
    this.delay = new Float32Array(this.count);
    this.order = new Uint32Array(this.count); // Still pieces first, so that those that move are painted over them.
    this.moving = 0;
    for (let piece = 0; piece < this.count; piece++) {
      this.to[2 * piece] = piece % columns;
      this.to[2 * piece + 1] = Math.floor(piece / columns);
    }
    this.from.set(this.to);
    this.sort();
  }

  // Set out, from where the pieces are at this moment, to where an arrangement wants them.
  aim(grid, time) {
    const { count, columns, rows } = this;
    const here = [0, 0, 0];
    for (let piece = 0; piece < count; piece++) {
      this.at(piece, time, here);
      this.from[2 * piece] = here[0];
      this.from[2 * piece + 1] = here[1];
    }
    for (let cell = 0; cell < count; cell++) {
      const piece = grid[cell];
      const x = cell % columns;
      const y = Math.floor(cell / columns);
      this.to[2 * piece] = x;
      this.to[2 * piece + 1] = y;
      this.delay[piece] = 0.45 * (x / columns + y / rows) * 0.5 + 0.55 * chance(piece);
    }
    this.sort();
  }

  sort() {
    let still = 0;
    let last = this.count;
    for (let piece = 0; piece < this.count; piece++) {
      const moves =
        Math.abs(this.from[2 * piece] - this.to[2 * piece]) + Math.abs(this.from[2 * piece + 1] - this.to[2 * piece + 1]) > 1e-4;
      if (moves) this.order[--last] = piece;
      else this.order[still++] = piece;
    }
    this.moving = this.count - still;
  }

  // Write the place of a piece, and how far it is lifted, into `here`.
  at(piece, time, here) {
    const fromX = this.from[2 * piece];
    const fromY = this.from[2 * piece + 1];
    const wayX = this.to[2 * piece] - fromX;
    const wayY = this.to[2 * piece + 1] - fromY;
    const share = progress(time, this.delay[piece]);
    const swing = wayX || wayY ? Math.sin(Math.PI * share) : 0;
    here[0] = fromX + wayX * share - wayY * ARC * swing;
    here[1] = fromY + wayY * share + wayX * ARC * swing;
    here[2] = swing;
  }
}
