// What people read on each screen.
"use strict";
const { check, until } = require("./browser");

const number = async (locator) => Number((await locator.innerText()).replaceAll(",", ""));

module.exports = {
  async now_shows_the_figures_of_this_moment(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("");
    const figure = (title) => page.locator(".kpi", { has: page.getByRole("heading", { name: title, exact: true }) }).locator(".n");
    await until("requests are allowed", async () => (await number(figure("Allowed"))) > 0);
    await until("requests are denied", async () => (await number(figure("Denied"))) > 0);
    await page.getByText("Most denied rules").waitFor();
    await page.getByRole("link", { name: "search-per-key" }).first().waitFor();
    check((await page.locator(".chart canvas").count()) === 1, "one chart");
    check((await page.locator(".pill").count()) >= 4, "the state strip has nodes, store, database and rules");
  },

  async the_time_range_is_in_the_address(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("");
    await page.getByRole("button", { name: "1 h" }).click();
    check(new URL(page.url()).search === "?range=1h", page.url());
    await page.getByRole("link", { name: "search-per-key" }).first().click();
    await page.getByRole("heading", { level: 1, name: /search-per-key/ }).waitFor();
    check(page.url().endsWith("/console/rules/search-per-key?range=1h"), page.url());
    await page.reload();
    await page.getByRole("heading", { level: 1, name: /search-per-key/ }).waitFor();
    check((await page.getByRole("button", { name: "1 h" }).getAttribute("aria-pressed")) === "true", "the range is kept");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
  },

  async rules_are_cards_that_lead_to_their_details(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("/rules");
    await page.getByRole("link", { name: "search-per-key" }).waitFor();
    await page.getByRole("searchbox", { name: "Find a rule" }).fill("login");
    await until("only rules that fit are shown", async () => (await page.locator(".cards .card").count()) === 1);
    check(page.url().includes("q=login"), page.url());
    await page.getByRole("link", { name: "login-account" }).click();
    await page.getByRole("heading", { name: "What it does" }).waitFor();
    check((await page.locator("main").innerText()).includes("account"), "the rule is explained");
  },

  async hostile_names_are_text(browser, { reader }) {
    const page = await browser.page({ token: reader });
    page.on("dialog", () => browser.faults.push("a name was executed"));
    for (const path of ["/rules", "/decisions", "/tenants", ""]) {
      await page.show(path);
      await page.waitForTimeout(300);
      check((await page.locator("main img, main script, main b > svg[onload]").count()) === 0, `no markup from data on ${path}`);
    }
    // The server refuses such ids, so it is given to the page as one that would not.
    const hostile = "<img src=x onerror=alert(2)>";
    await page.route(/admin\/v1\/(rules\/list|overview)/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replaceAll("search-per-key", hostile) });
    });
    for (const path of ["/rules", ""]) {
      await page.show(path);
      await page.getByRole("link", { name: hostile }).first().waitFor();
      check((await page.locator("main img").count()) === 0, "the id of a rule is text");
    }
    await page.unroute(/admin\/v1\/(rules\/list|overview)/);
    const evil = `"><img src=x onerror=alert(1)>`;
    await page.show(`/subject?a=${encodeURIComponent(`tenant=${evil}`)}`);
    await page.getByText(`tenant=${evil}`).first().waitFor();
    check((await page.locator("main img").count()) === 0, "the attribute is text");
    await page.show(`/rules/${encodeURIComponent(evil)}`);
    check((await page.getByRole("heading", { level: 1 }).innerText()).includes("<img"), "the id is text");
    browser.faults = browser.faults.filter((each) => !/status of 404/.test(each)); // there is no such rule
  },

  async a_subject_shows_its_limits_and_why_it_was_denied(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("/subject");
    const field = page.getByRole("textbox", { name: "Attributes of the subject" });
    await field.fill("tenant=acme");
    await field.press("Enter");
    await field.fill("api_key=hot path=/v1/search");
    await field.press("Enter");
    check(new URL(page.url()).searchParams.getAll("a").join(" ") === "tenant=acme api_key=hot path=/v1/search", page.url());
    const limits = page.locator(".card", { has: page.getByRole("heading", { name: "Limits that apply" }) });
    await limits.getByText("search-per-key").waitFor();
    const denials = page.locator(".card", { has: page.getByRole("heading", { name: "Why it was denied" }) });
    await denials.getByText("limit exceeded").locator("visible=true").first().waitFor();
    await page.getByText("Rules that do not apply").click();
    await page.getByRole("button", { name: "Remove path" }).click();
    check(!page.url().includes("path"), page.url());
  },

  async a_subject_shows_its_penalty(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("/subject?a=account%3Danna&a=action%3Dlogin");
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "Penalties" }) });
    await card.getByText("login-account").waitFor();
  },

  async decisions_come_live_and_expand(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("/decisions");
    await page.getByText("Live", { exact: true }).waitFor();
    const rows = page.locator("tbody tr:not(.more)");
    const first = await rows.first().locator("time").getAttribute("datetime");
    await until("a new decision comes", async () => (await rows.first().locator("time").getAttribute("datetime")) !== first);
    await page.getByRole("button", { name: "Pause" }).click();
    await until("decisions wait", async () => /Paused, [1-9]/.test(await page.getByRole("status").first().innerText()));
    await page.getByRole("button", { name: "Denied", exact: true }).click();
    check(page.url().includes("outcome=denied"), page.url());
    await page.locator("td .t-deny").first().waitFor();
    check((await page.locator("td .t-allow").count()) === 0, "only denials are shown");
    await page.locator(".expand").first().click();
    await page.locator("tr.more th", { hasText: "Full again" }).waitFor();
    await page.getByRole("button", { name: "Copy as JSON" }).click();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    check(copied.allowed === false && copied.rules.length > 0, "the decision was copied");
  },

  async every_screen_opens_by_its_address(browser, { admin }) {
    const page = await browser.page({ token: admin });
    const titles = {
      "": "Now", rules: "Rules", subject: "Subject", decisions: "Decisions", quotas: "Quotas", overrides: "Overrides", blocks: "Blocks",
      tenants: "Tenants", "tenants/keys": "Keys", change: "Change", audit: "Audit", tokens: "Tokens",
    };
    for (const [path, title] of Object.entries(titles)) {
      await page.show(`/${path}`);
      await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
      await page.waitForTimeout(300);
      check((await page.getByText("could not be loaded").count()) === 0, `${path} has its data`);
    }
    await page.show("/nothing-here").catch(() => undefined);
    await page.getByText("There is nothing at this address").waitFor();
  },
};
