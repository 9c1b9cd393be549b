// Who is logged in, and what they may do. The token goes to the server once and is kept nowhere; the browser holds a
// cookie that scripts cannot read.
import { computed } from "@preact/signals";
import { call, get, needsToken, session } from "./client";
import type { Role, Session } from "./types";

const order: Role[] = ["reader", "operator", "admin"];

export async function loadSession(): Promise<void> {
  session.value = await get<Session>("/session");
  needsToken.value = false;
}

export async function logIn(token: string): Promise<void> {
  await call("POST", "/session", { body: { token } });
  await loadSession();
}

export async function logOut(): Promise<void> {
  await call("DELETE", "/session");
  session.value = null;
  needsToken.value = true;
}

export const role = computed<Role>(() => session.value?.role ?? "reader");

/** Whether to offer what a role may do. The server decides again. */
export function may(wanted: Role): boolean {
  return order.indexOf(role.value) >= order.indexOf(wanted);
}

/** Whether the server has a capability; a server that does not list them has all. */
export function has(feature: string): boolean {
  const features = session.value?.features;
  return !features || features.includes(feature);
}
