// Which view is shown: the address decides. Every job has its own.

import { JobView } from "./job.js";
import { byId } from "./page.js";
import { SetupView } from "./setup.js";

let setup = null;
let job = null;

function show(name) {
  for (const id of ["setup", "job", "lost"]) byId(id).hidden = id !== name;
}

function route(fresh = false) {
  const [, id] = location.pathname.match(/^\/jobs\/([\w-]+)$/) ?? [];
  if (id) {
    show("job");
    job ??= new JobView(another);
    job.open(id, fresh);
  } else {
    job?.close();
    document.title = "jigsolve";
    show("setup");
    setup ??= new SetupView((made) => another("job", made));
    setup.show();
  }
}

function another(view, id) {
  if (view === "lost") {
    job?.close();
    document.title = "Gone · jigsolve";
    return show("lost");
  }
  history.pushState(null, "", `/jobs/${id}`);
  route(true);
  byId("main").focus({ preventScroll: true });
  scrollTo(0, 0);
}

function goHome(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (location.pathname !== "/") history.pushState(null, "", "/");
  route();
  byId("main").focus({ preventScroll: true });
}

// A picture may be dropped, or pasted, anywhere; it brings the page back to where pictures are cut.
function take(files) {
  if (!files.length) return;
  if (location.pathname !== "/") history.pushState(null, "", "/");
  route();
  setup.chooseFiles(files);
}

function listenForDrops() {
  let depth = 0;
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (hasFiles(event)) byId("veil").hidden = ++depth <= 0;
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event)) byId("veil").hidden = --depth <= 0;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    byId("veil").hidden = true;
    take(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => take(event.clipboardData?.files ?? []));
}

function listenForTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const apply = () => {
    const theme = stored() ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
    setup?.paint();
  };
  byId("theme").addEventListener("click", () => {
    try { localStorage.setItem("theme", root.dataset.theme === "dark" ? "light" : "dark"); } catch { return; }
    apply();
  });
  dark.addEventListener("change", apply);
  apply();
}

for (const id of ["home", "back"]) byId(id).addEventListener("click", goHome);
addEventListener("popstate", () => route());
listenForTheme();
listenForDrops();
route();
// For tests and the curious.
window.jigsolve = { get job() { return job; }, get setup() { return setup; } };
