// The overview of the last minutes: the Now screen shows it, and every screen's navigation counts what needs attention.
import { signal } from "@preact/signals";
import type { Overview } from "../api/types";

export const overview = signal<Overview | null>(null);

/** What someone should look at, in words. */
export function concerns(of: Overview | null): string[] {
  if (!of) return [];
  const { state, totals } = of;
  const found: string[] = [];
  if (state.nodes.expected !== undefined && state.nodes.live < state.nodes.expected) found.push("a node is missing");
  if (!state.store.ok) found.push("the store does not answer");
  if (!state.database.ok) found.push("the database does not answer");
  if (state.rules.error) found.push("the rules file is invalid");
  if (state.fallbacks.length > 0) found.push("rules are answered by their fallback");
  if (isSpike(totals.denied_share, totals.usual_denied_share)) found.push("more is denied than usual");
  if (totals.shed_per_second > 0) found.push("requests are shed");
  return found;
}

/** Twice the usual share, and at least one request in a hundred. */
export function isSpike(share: number, usual: number | null): boolean {
  return usual !== null && share >= 0.01 && share > 2 * usual;
}
