// Attributes as people write them: `tenant=acme api_key=9c41`, a JSON body, or a whole curl command.
import type { Attributes, When } from "../api/types";

const pair = /^([A-Za-z_][\w.-]{0,63})=(.*)$/s;

/** Words, where quotes keep spaces together. */
export function splitWords(text: string): string[] {
  const found = text.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? [];
  return found.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, a?: string, b?: string) => a ?? b ?? ""));
}

/** What a pasted text says about a request; empty if nothing was recognized. */
export function readAttributes(text: string): Attributes {
  const json = text.match(/\{.*\}/s);
  if (json) {
    try {
      const value = JSON.parse(json[0]) as { attributes?: Record<string, unknown> } & Record<string, unknown>;
      const from = value.attributes ?? value;
      const texts = Object.entries(from).filter(([, each]) => typeof each === "string" || typeof each === "number");
      return Object.fromEntries(texts.map(([name, each]) => [name, String(each)]));
    } catch {
      // Not JSON after all.
    }
  }
  const attributes: Attributes = {};
  for (const word of splitWords(text.replaceAll(",", " "))) {
    const found = pair.exec(word);
    if (found && found[2] !== "") attributes[found[1]!] = found[2]!;
  }
  return attributes;
}

/** One pair per entry, as in the address: ["tenant=acme"]. */
export function fromPairs(pairs: string[]): Attributes {
  const attributes: Attributes = {};
  for (const each of pairs) {
    const cut = each.indexOf("=");
    if (cut > 0) attributes[each.slice(0, cut)] = each.slice(cut + 1);
  }
  return attributes;
}

export const toPairs = (attributes: Attributes): string[] => Object.entries(attributes).map(([name, value]) => `${name}=${value}`);

/** `tenant=acme, plan=free or trial`. */
export function whenText(when: When | null | undefined): string {
  const parts = Object.entries(when ?? {}).map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(" or ") : value}`);
  return parts.length > 0 ? parts.join(" ") : "everything";
}
