// Small things that both views share.

export const byId = (id) => document.getElementById(id);

export function announce(text) {
  if (byId("announcer").textContent !== text) byId("announcer").textContent = text;
}

export function seconds(value) {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

// A share as percent; only what is all is shown as 100.
export function share(value) {
  const percent = value < 1 ? Math.min(99.9, Math.floor(1000 * value) / 10) : 100;
  return `${percent} %`;
}
