// Which screen is shown, and its settings. Both are in the address, so that a link shows what its sender saw.
import { signal } from "@preact/signals";

export const base = "/console";

export interface Place {
  /** Decoded segments behind /console: ["rules", "search-per-key"]. */
  path: string[];
  query: URLSearchParams;
}

function read(): Place {
  const path = location.pathname.slice(base.length).split("/").filter(Boolean).map(decode);
  return { path, query: new URLSearchParams(location.search) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const place = signal<Place>(read());

/** href("rules", id) is /console/rules/ID with the id escaped. The time range goes along. */
export function href(...segments: string[]): string {
  const path = [base, ...segments.map(encodeURIComponent)].join("/");
  const range = place.value.query.get("range");
  return range ? `${path}?range=${encodeURIComponent(range)}` : path;
}

export function hrefWith(segments: string[], query: Record<string, string | string[]>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) params.append(name, each);
  }
  const text = params.toString();
  return [base, ...segments.map(encodeURIComponent)].join("/") + (text ? `?${text}` : "");
}

export function navigate(to: string, replace = false): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  const before = place.value.path.join("/");
  place.value = read();
  if (before !== place.value.path.join("/")) scrollTo(0, 0);
}

/** Changes parameters of the address; null or "" removes one. */
export function setQuery(change: Record<string, string | string[] | null>, replace = true): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(change)) {
    query.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) if (each) query.append(name, each);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), replace);
}

addEventListener("popstate", () => {
  place.value = read();
});

// Links to other screens do not load the page again.
document.addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.hasAttribute("download")) return;
  if (link.pathname !== base && !link.pathname.startsWith(`${base}/`)) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
});
