// A page of the console in real Chromium. What no page may do fails every test: a request to anything but Weir, a breach
// of the content security policy, an error in a script.
"use strict";
const { chromium } = require("playwright-core");
const { AxeBuilder } = require("@axe-core/playwright");

const origin = `http://${process.env.WEIR_ADMIN}`;

class Browser {
  static async start() {
    const browser = new Browser();
    browser.chromium = await chromium.launch({
      executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    });
    browser.faults = [];
    return browser;
  }

  /** `token`: the page is logged in with it. `allowFailures`: answers of 400 and more are expected. */
  async page({ token, theme = "light", width = 1280, height = 900, allowFailures = false } = {}) {
    const context = await this.chromium.newContext({
      viewport: { width, height },
      colorScheme: theme,
      locale: "en-GB",
      timezoneId: "UTC",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    if (token) await logIn(context, token);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => this.faults.push(`error in a script: ${error.message}`));
    page.on("console", (message) => {
      const text = message.text();
      if (/Content Security Policy|Refused to/i.test(text)) this.faults.push(text);
      else if (message.type() === "error" && !(allowFailures && /Failed to load resource/.test(text))) {
        this.faults.push(`${text} ${message.location().url}`);
      }
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("data:")) {
        this.faults.push(`a request to ${request.url()}`);
      }
    });
    page.show = async (path) => {
      await page.goto(`${origin}/console${path}`);
      await page.locator("h1").first().waitFor();
    };
    return page;
  }

  async stop() {
    await this.chromium.close();
    if (this.faults.length > 0) throw new Error([...new Set(this.faults)].join("\n"));
  }
}

async function logIn(context, token) {
  const answer = await context.request.post(`${origin}/admin/v1/session`, {
    data: { token },
    headers: { "X-Weir-Console": "1" },
  });
  if (answer.status() !== 204) throw new Error(`log-in: ${answer.status()} ${await answer.text()}`);
}

/** What axe finds on a page; nothing is right. */
async function axe(page) {
  const found = await new AxeBuilder({ page }).analyze();
  const lines = found.violations.flatMap((fault) =>
    fault.nodes.map((node) => `${fault.id}: ${fault.help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`),
  );
  if (lines.length > 0) throw new Error(`axe on ${page.url()}:\n${lines.join("\n")}`);
}

function check(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
}

/** Until something holds, which changes of the page bring about. */
async function until(what, holds, timeoutMs = 60_000) {
  const end = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

module.exports = { Browser, axe, check, until, origin };
