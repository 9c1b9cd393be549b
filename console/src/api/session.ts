// Who is logged in, and what they may do. The token goes to the server once and is kept nowhere; the browser holds a
// cookie that scripts cannot read.
import { computed, signal } from "@preact/signals";
import { call, get, needsToken, session } from "./client";
import type { Role, Session } from "./types";

const order: Role[] = ["reader", "operator", "admin"];

/** What the server can do: "POST /refund". Servers differ, for example one without a database keeps no overrides. */
const routes = signal<ReadonlySet<string>>(new Set());

export async function loadSession(): Promise<void> {
  const found = await get<Session>("/session");
  const index = await get<{ routes: { method: string; path: string }[] }>("");
  routes.value = new Set(index.routes.map((each) => `${each.method} ${each.path.replace("/admin/v1", "")}`));
  session.value = found;
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

/** Whether the server has a route: has("POST /refund"). */
export function has(route: string): boolean {
  return routes.value.has(route);
}
