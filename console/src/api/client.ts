// Calls of the admin API. Errors are ApiError; a call that got no answer marks the server as lost until one does.
import { signal } from "@preact/signals";
import { learnServerTime, serverNow } from "../core/clock";
import type { Session, TextError } from "./types";

const root = "/admin/v1";
const timeoutMs = 10_000;

/** The log-in; null while none is known. */
export const session = signal<Session | null>(null);
/** True: the server wants a token. */
export const needsToken = signal(false);
/** Since when the server has not answered; null while it does. */
export const lostSince = signal<number | null>(null);

export type Query = Record<string, string | number | undefined | null>;

export class ApiError extends Error {
  constructor(
    /** 0: no answer came. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly errors: TextError[] = [],
    readonly body: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

export function url(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") params.append(name, String(value));
  }
  const text = params.toString();
  return root + path + (text ? `?${text}` : "");
}

/** `segment("a/b")` is one segment of a path. */
export const segment = encodeURIComponent;

export interface CallOptions {
  query?: Query;
  body?: unknown;
  etag?: string | null;
  /** What is written must not exist yet. */
  isNew?: boolean;
  signal?: AbortSignal;
  /** A POST that only asks. */
  reads?: boolean;
}

export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-Weir-Console"] = "1";
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.etag) headers["If-Match"] = `"${options.etag.replaceAll('"', "")}"`;
  if (options.isNew) headers["If-None-Match"] = "*";
  if (method === "POST" && !options.reads) headers["Idempotency-Key"] = `"${randomId()}"`;
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  const leave = (): void => stop.abort();
  options.signal?.addEventListener("abort", leave);
  try {
    const response = await fetch(url(path, options.query), {
      method,
      headers,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: stop.signal,
      credentials: "same-origin",
      cache: "no-store",
    });
    return await answer<T>(response);
  } catch (error) {
    if (error instanceof ApiError || options.signal?.aborted) throw error;
    if (lostSince.value === null) lostSince.value = serverNow();
    const what = stop.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : "the server cannot be reached";
    throw new ApiError(0, "unreachable", what);
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", leave);
  }
}

async function answer<T>(response: Response): Promise<T> {
  lostSince.value = null;
  learnServerTime(response.headers.get("Date"));
  const text = await response.text();
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  const body: unknown = isJson && text ? JSON.parse(text) : {};
  if (response.ok) return body as T;
  const problem = body as { code?: string; title?: string; detail?: string; errors?: TextError[] };
  if (response.status === 401) needsToken.value = true;
  throw new ApiError(
    response.status,
    problem.code ?? "",
    problem.detail ?? problem.title ?? `the server answered ${response.status}`,
    problem.errors ?? [],
    body as Record<string, unknown>,
  );
}

function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> => call<T>("GET", path, { query, signal });
/** A question whose parameters are a body. */
export const ask = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  call<T>("POST", path, { body, signal, reads: true });
export const post = <T>(path: string, body: unknown): Promise<T> => call<T>("POST", path, { body });
/** Changes what has this etag. */
export const postTo = <T>(path: string, body: unknown, etag: string): Promise<T> => call<T>("POST", path, { body, etag });
export const put = <T>(path: string, body: unknown, etag: string | null): Promise<T> =>
  call<T>("PUT", path, { body, etag, isNew: etag === null });
export const remove = (path: string, reason: string, etag?: string | null): Promise<unknown> =>
  call("DELETE", path, { query: { reason }, etag });
