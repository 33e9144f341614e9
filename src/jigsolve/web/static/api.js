// Asking the server. What goes wrong comes back as a Problem with a sentence to show.

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem("The server does not answer. Is jigsolve serve still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Problem(sentence(body.error ?? `The server refused (${response.status}).`), response.status);
}

export function sentence(text) {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?…]$/.test(trimmed) ? "" : ".");
}

export const about = async () => (await ask("/api/about")).json();
export const job = async (id) => (await ask(`/api/jobs/${encodeURIComponent(id)}`)).json();
export const create = async (form) => (await ask("/api/jobs", { method: "POST", body: form })).json();
export const stop = async (id) => (await ask(`/api/jobs/${id}/stop`, { method: "POST" })).json();
export const again = async (id, changes) =>
  (await ask(`/api/jobs/${id}/again`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(changes),
  })).json();

export async function bitmap(path) {
  const blob = await (await ask(path)).blob();
  return createImageBitmap(blob);
}

// Follow a job until it has finished. The browser reconnects by itself and says what it saw last.
export function follow(id, { onStatus, onGeneration, onEnd, onLost, onConnection }) {
  const source = new EventSource(`/api/jobs/${encodeURIComponent(id)}/events`);
  source.addEventListener("status", (event) => onStatus(JSON.parse(event.data)));
  source.addEventListener("generation", (event) => onGeneration(JSON.parse(event.data)));
  source.addEventListener("end", () => {
    source.close();
    onEnd();
  });
  source.addEventListener("open", () => onConnection(true));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) onLost();
    else onConnection(false);
  });
  return source;
}

// Piece numbers from base64, two bytes each, the low byte first.
export function decodeGrid(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, index) => view.getUint16(2 * index, true));
}
