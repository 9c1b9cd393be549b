// Builds the console: bundles src/, and writes the files as they are served, or as C++ that contains them.
//
//   node build.mjs --out FOLDER        files in a folder, for looking at them
//   node build.mjs --embed FILE.cc     a C++ source with every file (src/console/console_files.h says its form)
//   --modules FOLDER                   where the packages are (default: node_modules beside this file)
//
// File names contain a hash of their content, so that browsers may keep them forever. Everything but the page is stored
// compressed.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const mostCompressedBytes = 250 * 1024;

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const types = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  html: "text/html; charset=utf-8",
};

function hashed(name, content) {
  const [stem, extension] = name.split(".");
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return { name: `${stem}-${hash}.${extension}`, type: types[extension], content };
}

/** [{path, type, content}]; the page is first and has the path "". */
export async function build(modules = join(here, "node_modules")) {
  const require = createRequire(join(resolve(modules), "..", "build.cjs"));
  const esbuild = require("esbuild");
  const result = await esbuild.build({
    entryPoints: { app: join(here, "src/main.tsx"), theme: join(here, "src/theme.ts") },
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome109", "firefox109", "safari16"],
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [resolve(modules)],
    outdir: "assets",
    write: false,
    legalComments: "none",
    logLevel: "warning",
  });
  const files = Object.fromEntries(
    result.outputFiles.map((file) => {
      const name = file.path.split("/").pop();
      return [name, hashed(name, Buffer.from(file.contents))];
    }),
  );
  files["icon.svg"] = hashed("icon.svg", readFileSync(join(here, "src/icon.svg")));
  const page = readFileSync(join(here, "src/index.html"), "utf8")
    .replace("{{app}}", files["app.js"].name)
    .replace("{{theme}}", files["theme.js"].name)
    .replace("{{css}}", files["app.css"].name)
    .replace("{{icon}}", files["icon.svg"].name);
  const assets = Object.values(files).map((file) => ({ path: `assets/${file.name}`, type: file.type, content: file.content }));
  return [{ path: "", type: types.html, content: Buffer.from(page) }, ...assets];
}

function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 4096) {
    let text = "";
    for (const byte of bytes.subarray(at, at + 4096)) text += `\\${byte.toString(8).padStart(3, "0")}`;
    lines.push(`    "${text}"`);
  }
  return lines.join("\n");
}

function source(files) {
  const parts = files.map((file, i) => {
    const stored = i === 0 ? file.content : gzipSync(file.content, { level: 9 });
    return { ...file, stored, etag: createHash("sha256").update(file.content).digest("hex").slice(0, 16) };
  });
  const total = parts.reduce((sum, part) => sum + part.stored.length, 0);
  if (total > mostCompressedBytes) throw new Error(`the console has ${total} bytes compressed; ${mostCompressedBytes} is the most`);
  const rows = parts.map(
    (part, i) =>
      `    {"${part.path}", "${part.type}", "\\"${part.etag}\\"", {kFile${i}, ${part.stored.length}}, ${i === 0 ? "false" : "true"}},`,
  );
  return `// Written by console/build.mjs.
#include "console/console_files.h"

namespace weir::console {
namespace {

${parts.map((part, i) => `constexpr char kFile${i}[] =\n${literal(part.stored)};`).join("\n")}

constexpr ConsoleFile kFiles[] = {
${rows.join("\n")}
};

}  // namespace

std::span<const ConsoleFile> console_files() { return kFiles; }

}  // namespace weir::console
`;
}

async function main() {
  const files = await build(option("--modules"));
  const out = option("--out");
  if (out) {
    for (const file of files) {
      const path = join(out, file.path || "index.html");
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, file.content);
    }
  }
  const embed = option("--embed");
  if (embed) writeFileSync(embed, source(files));
  const sizes = files.map((file) => `${file.path || "page"} ${gzipSync(file.content).length}`);
  if (process.argv.includes("--sizes")) console.log(sizes.join("\n"));
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
