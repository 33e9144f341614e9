// Shows one arrangement after the other, at a pace the eye can follow: slowly when few wait, faster when many do.

const SLOWEST_MS = 1500;
const QUICKEST_MS = 140;
const UNHURRIED = 6; // Frames waiting at which the pace has doubled.
const SCRUB_MS = 240;
const STILL_MS = 350; // Between frames where nothing is to move.
const MOST_WAITING = 120; // Beyond, frames are skipped.

export class Player {
  constructor(stage, onShow) {
    this.stage = stage;
    this.onShow = onShow;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    stage.onRest = () => this.next();
    this.reset();
  }

  reset() {
    clearTimeout(this.timer);
    this.frames = [];
    this.index = 0;
    this.playing = true;
    this.held = false; // While catching up, frames are taken in but not shown.
    this.ended = false;
  }

  get shown() {
    return this.frames[this.index];
  }

  get atEnd() {
    return this.index >= this.frames.length - 1;
  }

  add(frame) {
    this.frames.push(frame);
    if (!this.held && this.playing && !this.busy) this.next();
    this.onShow();
  }

  get busy() {
    return this.stage.gliding || this.timer !== undefined;
  }

  // Everything known by now has arrived: show the newest.
  release() {
    if (!this.held) return;
    this.held = false;
    if (this.frames.length > 1) this.show(this.frames.length - 1, SLOWEST_MS);
  }

  end() {
    this.ended = true;
    this.settle();
  }

  next() {
    if (!this.playing || this.held) return this.settle();
    const waiting = this.frames.length - 1 - this.index;
    if (waiting <= 0) return this.settle();
    const step = Math.max(1, Math.ceil(waiting / MOST_WAITING));
    this.show(this.index + step, Math.max(QUICKEST_MS, SLOWEST_MS / (1 + (waiting - 1) / UNHURRIED)));
  }

  show(index, duration) {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.index = Math.min(Math.max(0, index), this.frames.length - 1);
    this.settle();
    this.stage.glide(this.shown.grid, this.calm.matches ? 0 : duration);
    if (!this.stage.gliding) {
      this.timer = setTimeout(() => {
        this.timer = undefined;
        this.next();
      }, STILL_MS);
    }
    this.onShow();
  }

  // Pieces close up when the last arrangement of a finished solve lies there.
  settle() {
    this.stage.setApart(!(this.ended && this.atEnd && !this.stage.gliding));
    this.onShow();
  }

  seek(index) {
    this.playing = false;
    if (index !== this.index) this.show(index, SCRUB_MS);
    else this.onShow();
  }

  // The frame that was the newest at a generation's number.
  indexAt(number) {
    let found = 0;
    for (let index = 1; index < this.frames.length && this.frames[index].record.number <= number; index++) found = index;
    return found;
  }

  toggle() {
    if (this.playing && !(this.atEnd && this.ended)) {
      this.playing = false;
    } else {
      this.playing = true;
      if (this.atEnd && this.ended && this.frames.length > 1) this.show(0, SLOWEST_MS);
      else if (!this.busy) this.next();
    }
    this.onShow();
  }

  get canPause() {
    return this.playing && !(this.atEnd && this.ended);
  }
}
