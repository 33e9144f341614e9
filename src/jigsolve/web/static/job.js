// The view of one job: follows it, shows it, and carries out what its buttons say.

import * as api from "./api.js";
import { Chart, compact } from "./chart.js";
import { announce, byId, seconds, share } from "./page.js";
import { Player } from "./player.js";
import { Stage } from "./stage.js";

const CAUGHT_UP_MS = 500;
const PATIENCE_MS = 1500; // Warming up is worth a word only if it takes longer.

export class JobView {
  constructor(onAnother) {
    this.onAnother = onAnother;
    this.stage = new Stage(byId("stage"));
    this.player = new Player(this.stage, () => this.scheduleFacts());
    this.chart = new Chart(byId("chart"), (number) => this.player.seek(this.player.indexAt(number)));
    this.listen();
  }

  // Show a job; `fresh` if it has just been made, so that it is watched from its beginning.
  open(id, fresh) {
    this.close();
    this.id = id;
    this.status = null;
    this.loaded = null;
    this.original = null;
    this.records = [];
    this.early = [];
    this.player.reset();
    this.player.held = !fresh;
    this.chart.clear();
    this.stage.fit();
    this.stage.setCompare(0);
    this.stage.canvas.style.visibility = "hidden";
    byId("compare").value = 0;
    byId("overlay").hidden = true;
    this.problem("");
    this.source = api.follow(id, {
      onStatus: (status) => this.onStatus(status),
      onGeneration: (record) => this.onGeneration(record),
      onEnd: () => this.caughtUp(),
      onLost: () => this.onLost(),
      onConnection: (there) => this.onConnection(there),
    });
    this.clock = setInterval(() => this.showTime(), 200);
  }

  close() {
    this.source?.close();
    clearInterval(this.clock);
    clearTimeout(this.patience);
    clearTimeout(this.catching);
    this.catching = undefined;
  }

  async onLost() {
    try {
      await api.job(this.id);
      this.problem("The connection to the server was lost. Reload the page to go on.");
    } catch (error) {
      if (error.status === 404) this.onAnother("lost");
      else this.problem(error.message);
    }
  }

  onConnection(there) {
    if (!there) this.overlay("Reconnecting…");
    else if (this.status) this.showPhase();
  }

  onStatus(status) {
    const before = this.status;
    this.status = status;
    if (status.puzzle && !this.loaded) this.loaded = this.load(status);
    if (!before || before.state !== status.state || before.phase !== status.phase || before.place !== status.place || before.stopping !== status.stopping) this.showPhase();
    this.showActions();
    this.showMeta();
    if (status.state === "failed") this.problem(api.sentence(status.message));
    if (status.ended !== null) this.player.end();
    this.scheduleCatchUp();
  }

  async load(status) {
    const { rows, columns, piece_width: width, piece_height: height } = status.puzzle;
    const { id } = this;
    try {
      const image = await api.bitmap(`/api/jobs/${id}/pieces.png`);
      if (id !== this.id) return;
      this.stage.load(image, rows, columns, width, height);
      this.stage.canvas.style.visibility = "visible";
    } catch (error) {
      return this.problem(error.message);
    }
    this.player.add({ record: null, grid: Uint16Array.from({ length: rows * columns }, (_, cell) => cell) });
    const early = this.early;
    this.early = null;
    early.forEach((record) => this.take(record));
    this.scheduleCatchUp();
  }

  onGeneration(record) {
    this.records.push(record);
    this.chart.add(record);
    if (this.early) this.early.push(record); // The picture of the pieces is still on its way.
    else this.take(record);
    this.scheduleCatchUp();
    this.scheduleFacts();
  }

  take(record) {
    if (record.grid === null) return;
    const grid = api.decodeGrid(record.grid);
    record.grid = null; // It is kept decoded.
    this.player.add({ record, grid });
  }

  // What is known by now comes within a moment. A job that goes on telling does not put it off.
  scheduleCatchUp() {
    if (!this.player.held || this.catching !== undefined) return;
    this.catching = setTimeout(() => this.caughtUp(), CAUGHT_UP_MS);
  }

  caughtUp() {
    this.catching = undefined;
    if (!this.early) this.player.release();
  }

  // What it says

  problem(text) {
    byId("job-problem").textContent = text;
    byId("job-problem").hidden = !text;
  }

  overlay(text) {
    byId("overlay").textContent = text;
    byId("overlay").hidden = !text;
  }

  showPhase() {
    const { state, phase, place, result, stopping } = this.status;
    clearTimeout(this.patience);
    const names = { queued: "Waiting", done: "Solved", stopped: result ? "Stopped early" : "Stopped", failed: "This did not work" };
    const took = result ? ` in ${seconds(result.seconds.total)}` : "";
    const title = state === "running" ? (stopping ? "Stopping" : "Solving") : names[state] + (state === "done" ? took : "");
    byId("job-title").textContent = title;
    document.title = `${title} · jigsolve`;
    if (state === "queued") {
      this.overlay(place === 1 ? "Next in the queue" : `Waiting: number ${place} in the queue`);
    } else if (state === "running") {
      const words = { starting: "Starting", reading: "Reading the picture", warming: "Getting ready", preparing: "Finding out which sides fit" };
      this.overlay(stopping ? "Stopping after this generation" : words[phase] ? `${words[phase]}…` : "");
      if (phase === "warming") {
        this.patience = setTimeout(() => this.overlay("Warming up: only once, a minute or two"), PATIENCE_MS);
      }
    } else {
      this.overlay("");
    }
    announce(state === "running" && !stopping ? "Solving" : this.inWords(title));
  }

  inWords(title) {
    const accuracy = this.status.result?.accuracy;
    if (!accuracy) return title;
    return `${title}. ${accuracy.perfect ? "Every piece is in its place" : `${share(accuracy.neighbour)} of the neighbours are right`}.`;
  }

  showMeta() {
    const { request, puzzle } = this.status;
    const parts = [request.names[0]];
    if (puzzle) parts.push(`${compact(puzzle.rows * puzzle.columns)} pieces`, `${puzzle.columns} × ${puzzle.rows}`);
    parts.push(`preset ${request.preset}`, `seed ${request.seed}`);
    byId("job-meta").textContent = parts.filter(Boolean).join(" · ");
  }

  showActions() {
    const { state, stopping, files } = this.status;
    const going = state === "running" || state === "queued";
    byId("stop").hidden = !going;
    byId("stop").disabled = stopping;
    byId("stop").textContent = state === "queued" ? "Do not solve this one" : stopping ? "Stopping…" : "Stop and keep the best";
    byId("again").classList.toggle("primary", !going);
    for (const [link, file] of [["get-picture", "solved.png"], ["get-json", "result.json"], ["get-gif", "evolution.gif"]]) {
      byId(link).hidden = !files.includes(file);
      byId(link).href = `/api/jobs/${this.id}/${file}?download=true`;
    }
    byId("compare-field").hidden = !files.includes("original.png");
    for (const fact of document.querySelectorAll(".truth")) fact.hidden = !this.status.puzzle?.truth_known;
  }

  scheduleFacts() {
    if (this.factsScheduled) return;
    this.factsScheduled = true;
    requestAnimationFrame(() => {
      this.factsScheduled = false;
      this.showFacts();
    });
  }

  showFacts() {
    const { player } = this;
    const record = player.shown?.record ?? null;
    const latest = this.records.at(-1);
    const label = record ? name(record, this.records) : "shuffled";
    const scrub = byId("scrub");
    scrub.max = Math.max(0, player.frames.length - 1);
    scrub.value = player.index;
    scrub.setAttribute("aria-valuetext", label);
    const behind = latest && record && !player.atEnd ? ` of ${latest.number}` : "";
    byId("scrub-label").textContent = label + behind;
    byId("generation-name").textContent = record?.stage === "refine" ? "Refining, part" : "Generation";
    byId("generation").textContent = record ? String(part(record, this.records)) : "–";
    const evolved = this.records.findLast((one) => one.stage !== "refine");
    byId("generation-of").textContent = record && record.stage !== "refine" && evolved.number > record.number ? `of ${evolved.number}` : "";
    byId("best-cost").textContent = record ? compact(record.best_cost) : "–";
    byId("mean-cost").textContent = record ? compact(record.mean_cost) : "–";
    byId("neighbour").textContent = record?.neighbour !== undefined ? share(record.neighbour) : "–";
    byId("direct").textContent = record?.direct !== undefined ? share(record.direct) : "–";
    this.showShares(record);
    this.chart.show(record ?? null);
    this.showTime();
    const play = byId("play");
    const text = player.canPause ? "Pause the view" : player.atEnd && player.ended ? "Play it again" : "Play";
    if (play.getAttribute("aria-label") !== text) {
      play.setAttribute("aria-label", text);
      play.firstElementChild.textContent = player.canPause ? "❚❚" : player.atEnd && player.ended ? "↻" : "►";
    }
    play.disabled = player.frames.length < 2;
    const { canvas } = this.stage;
    const picture = this.status?.puzzle ? `${this.status.puzzle.rows * this.status.puzzle.columns} pieces, ${label}` : "The pieces";
    if (canvas.getAttribute("aria-label") !== picture) canvas.setAttribute("aria-label", picture);
  }

  showShares(record) {
    const none = !record || record.stage === "refine" || record.number === 0;
    for (const phase of ["agreed", "buddy", "greedy"]) {
      const value = none ? 0 : record[`${phase}_share`];
      byId(phase).textContent = none ? "–" : `${Math.round(100 * value)} %`;
      document.querySelector(`.shares-bar .${phase}`).style.width = `${100 * value}%`;
    }
  }

  showTime() {
    const record = this.player.shown?.record;
    const { started, ended } = this.status ?? {};
    if (record && (this.player.atEnd ? ended !== null : true)) byId("time").textContent = seconds(record.seconds);
    else if (started && ended === null) byId("time").textContent = seconds(Math.max(0, Date.now() / 1000 - started));
    else byId("time").textContent = "–";
  }

  // What it does

  listen() {
    byId("play").addEventListener("click", () => this.player.toggle());
    byId("scrub").addEventListener("input", (event) => this.player.seek(Number(event.target.value)));
    byId("zoom-in").addEventListener("click", () => this.stage.zoomBy(1.5));
    byId("zoom-out").addEventListener("click", () => this.stage.zoomBy(1 / 1.5));
    byId("zoom-fit").addEventListener("click", () => this.stage.fit());
    byId("compare").addEventListener("input", (event) => this.compare(Number(event.target.value) / 100));
    byId("stop").addEventListener("click", () => this.act(() => api.stop(this.id)));
    byId("again").addEventListener("click", () => this.act(async () => {
      const made = await api.again(this.id, { seed: this.status.request.seed + 1 });
      this.onAnother("job", made.id);
    }));
    document.addEventListener("keydown", (event) => {
      const free = event.target === document.body || event.target === this.stage.canvas;
      if (event.key !== " " || !free || byId("job").hidden || byId("play").disabled) return;
      event.preventDefault();
      this.player.toggle();
    });
  }

  async act(action) {
    this.problem("");
    try {
      await action();
    } catch (error) {
      this.problem(error.message);
    }
  }

  async compare(value) {
    this.stage.setCompare(value);
    if (this.original) return;
    const { id } = this;
    this.original = true;
    await this.act(async () => {
      const image = await api.bitmap(`/api/jobs/${id}/original.png`);
      if (id === this.id) this.stage.loadOriginal(image);
    });
  }
}

function part(record, records) {
  if (record.stage !== "refine") return record.number;
  const first = records.find((one) => one.stage === "refine");
  return record.number - first.number + 1;
}

function name(record, records) {
  return record.stage === "refine" ? `refining, part ${part(record, records)}` : `generation ${record.number}`;
}
