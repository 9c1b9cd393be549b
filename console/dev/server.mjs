// A server for working on how the console looks: `npm run dev`, then http://127.0.0.1:9191/console. The data is invented,
// or that of a running server: WEIR_ADMIN=127.0.0.1:9090 npm run dev. It is not part of the program.
import { createServer, request as ask } from "node:http";
import { build } from "../build.mjs";
import * as data from "./data.mjs";

const port = Number(process.env.PORT ?? 9191);
const real = process.env.WEIR_ADMIN;
const list = (items) => ({ items, next: null });
const paths = (pattern) => pattern.source.replaceAll("\\/", "/").replaceAll(/[\^$]/g, "");
const further = ["POST /refund", "PUT /rules", "GET /leases", "GET /reservations", "POST /rules/{id}/candidate/promote"];
const routes = () => [
  ...answers.map(([method, pattern]) => ({ method, path: paths(pattern) })),
  ...further.map((each) => ({ method: each.split(" ")[0], path: each.split(" ")[1] })),
];
const answers = [
  ["GET", /^$/, () => ({ routes: routes() })],
  [
    "GET",
    /^\/session$/,
    () => ({ actor: "ops-anna", role: process.env.ROLE ?? "admin", open: false, expires_at: null, version: "0.1.0", node: "weir-1" }),
  ],
  ["GET", /^\/overview$/, (_, query) => data.overview(query.get("range") ?? "5m")],
  ["GET", /^\/rules$/, () => data.rules()],
  [
    "POST",
    /^\/rules\/validate$/,
    (_, __, body) =>
      body.text.includes("oops")
        ? {
            ok: false,
            errors: [{ line: 7, column: 5, field: "window", message: "expected a duration such as 60s" }],
            warnings: [],
            rules: 2,
          }
        : { ok: true, errors: [], warnings: ["rule login-account: no route names it"], rules: 2 },
  ],
  [
    "POST",
    /^\/rules\/diff$/,
    () => ({
      changes: [
        { rule: "search-per-key", change: "changed", fields: [{ field: "limit", before: 600, after: 900 }], state: "kept", text: "" },
      ],
    }),
  ],
  [
    "POST",
    /^\/rules\/simulate$/,
    () => ({
      requests: 182_000,
      allowed_now: 175_000,
      denied_now: 7000,
      allowed_then: 179_000,
      denied_then: 3000,
      rules: [{ rule: "search-per-key", denied_now: 7000, denied_then: 3000 }],
      subjects: [{ subject: "tenant=acme", denied_now: 6500, denied_then: 2700 }],
    }),
  ],
  ["GET", /^\/rules\/versions$/, () => list(data.versions())],
  ["GET", /^\/rules\/versions\/(\d+)$/, (id) => data.versions().find((each) => String(each.version) === id)],
  ["GET", /^\/rules\/list$/, () => list(data.cards())],
  ["GET", /^\/rules\/([^/]+)$/, (id, query) => data.rule(id, query.get("range") ?? "5m")],
  ["GET", /^\/overrides$/, () => list(data.overrides)],
  ["GET", /^\/blocks$/, () => list(data.blocks)],
  ["GET", /^\/blocks\/(.*)$/, () => data.blocks[0]],
  ["GET", /^\/tenants$/, () => list(data.tenants)],
  ["GET", /^\/keys$/, () => list(data.keys)],
  ["POST", /^\/keys$/, () => ({ ...data.keys[0], key: "wk_9c41d2f0_secret" })],
  ["GET", /^\/tokens$/, () => list(data.tokens)],
  ["GET", /^\/audit$/, () => list(data.audit)],
  ["GET", /^\/accounts$/, () => list(data.accounts)],
  ["GET", /^\/accounts\/([^/]+)$/, (id) => data.account(id)],
  ["GET", /^\/leases$/, () => list(data.holds)],
  ["GET", /^\/reservations$/, () => list(data.reservations)],
  ["GET", /^\/decisions$/, () => list(Array.from({ length: 25 }, (_, i) => data.decision(i * 700 + 2000)))],
  ["POST", /^\/subjects\/lookup$/, (_, __, body) => data.lookup(body.attributes)],
  ["POST", /^\/reset$/, () => ({ reset: 4 })],
];

function stream(response) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(": hello\n\n");
  const timer = setInterval(() => response.write(`event: decision\ndata: ${JSON.stringify(data.decision())}\n\n`), 800);
  response.on("close", () => clearInterval(timer));
}

async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, "http://x");
  if (!pathname.startsWith("/admin/v1")) return page(pathname, response);
  if (real) return forward(request, response);
  const path = pathname.slice("/admin/v1".length);
  if (path === "/decisions/stream") return stream(response);
  if (path === "/session" && request.method !== "GET") {
    response.writeHead(204);
    return response.end();
  }
  let text = "";
  for await (const part of request) text += part;
  for (const [method, pattern, make] of answers) {
    const found = pattern.exec(path);
    if (!found || method !== request.method) continue;
    response.writeHead(200, { "Content-Type": "application/json" });
    return response.end(JSON.stringify(make(decodeURIComponent(found[1] ?? ""), searchParams, text ? JSON.parse(text) : {})));
  }
  response.writeHead(request.method === "GET" ? 404 : 200, { "Content-Type": "application/json" });
  return response.end("{}");
}

function forward(request, response) {
  const { method, url, headers } = request;
  const asked = ask(`http://${real}${url}`, { method, headers }, (answered) => {
    response.writeHead(answered.statusCode, answered.headers);
    answered.pipe(response);
  });
  asked.on("error", () => response.destroy());
  response.on("close", () => asked.destroy());
  request.pipe(asked);
}

async function page(path, response) {
  const files = await build();
  const file = files.find((each) => `/console/${each.path}` === path && each.path) ?? files[0];
  response.writeHead(200, {
    "Content-Type": file.type,
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
  });
  response.end(file.content);
}

createServer((request, response) => void answer(request, response)).listen(port, "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${port}/console`),
);
