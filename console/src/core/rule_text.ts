// Edits of the text of rules that the console offers, so that a change is tried before it denies anyone. The server
// checks the result as it checks any text.
import type { RuleChange } from "../api/types";

/** What a candidate may have. */
const numbers = ["limit", "window", "burst"];

/** The text with one field more in a rule; null if the rule is not written in a way that can be edited here. */
export function withField(text: string, rule: string, field: string): string | null {
  const lines = text.split("\n");
  const name = rule.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const at = lines.findIndex((line) => new RegExp(`(^|[\\s{,])id:\\s*["']?${name}["']?\\s*(,|}|#|$)`).test(line));
  if (at < 0) return null;
  const line = lines[at]!;
  const flow = /^(\s*-\s*\{.*)\}(\s*(#.*)?)$/.exec(line);
  const block = /^(\s*(?:-\s+)?)id:/.exec(line);
  if (flow) lines[at] = `${flow[1]!.trimEnd()}, ${field}}${flow[2]}`;
  else if (block) lines.splice(at + 1, 0, " ".repeat(block[1]!.length) + field);
  else return null;
  return lines.join("\n");
}

/** The rules as they are, with the new numbers of one rule as its candidate. */
export function asCandidate(active: string, change: RuleChange): string | null {
  const tried = change.fields.filter((field) => field.after !== null && field.after !== undefined);
  if (change.change !== "changed" || tried.length !== change.fields.length) return null;
  if (!tried.every((field) => numbers.includes(field.field))) return null;
  const members = tried.map((field) => `${field.field}: ${String(field.after)}`).join(", ");
  return withField(active, change.rule, `candidate: {${members}}`);
}

/** The text, with a new rule in shadow mode. */
export function asShadow(draft: string, change: RuleChange): string | null {
  if (change.change !== "added" || change.fields.some((field) => field.field === "mode")) return null;
  return withField(draft, change.rule, "mode: shadow");
}
