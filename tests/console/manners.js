// Roles, log-in, keyboard, accessibility, and a server that goes away.
"use strict";
const { axe, check, until, origin } = require("./browser");

const screens = ["", "/rules", "/rules/search-per-key", "/subject?a=tenant%3Dacme&a=api_key%3Dhot&a=path%3D%2Fv1%2Fsearch", "/subject",
  "/decisions", "/quotas", "/quotas?tab=leases&a=tenant%3Dacme&a=action%3Dexport", "/quotas?tab=reservations", "/overrides", "/blocks", "/tenants", "/tenants/keys", "/change", "/audit", "/tokens"];

const phone = { width: 390, height: 844 };

async function audit(browser, token, settings) {
  const page = await browser.page({ token, ...settings });
  for (const path of screens) {
    await page.show(path);
    await page.waitForLoadState("networkidle", { timeout: 1000 }).catch(() => undefined); // some never rest
    await axe(page);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wider <= 0, `${path} fits, ${wider} px too wide`);
  }
  await page.show("/decisions?outcome=denied");
  await page.locator(".expand").first().click();
  await axe(page);
  await page.show("/blocks");
  await page.getByRole("button", { name: "Block…", exact: true }).click();
  await axe(page);
}

/** Opens every dialog that the screen at `path` offers, and answers what each is about. */
async function dialogs(page, path) {
  await page.show(path);
  await page.locator("main .live").first().waitFor();
  await page.waitForTimeout(400);
  const buttons = page.locator("main button:not([disabled])", { hasText: "…" });
  const seen = [];
  for (let i = 0; i < (await buttons.count()); i++) {
    await buttons.nth(i).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await dialog.getByText("Counting the subjects it affects").waitFor({ state: "detached" });
    seen.push({
      title: await dialog.getByRole("heading").innerText(),
      asksWhy: (await dialog.getByLabel("Reason", { exact: true }).count()) === 1,
      effect: (await dialog.locator(".effect").allInnerTexts()).join(" "),
      danger: (await dialog.locator("button.x[type=submit]").count()) === 1,
    });
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
  return seen;
}

module.exports = {
  async axe_finds_nothing_in_light(browser, { admin }) {
    await audit(browser, admin, { theme: "light" });
  },

  async axe_finds_nothing_in_dark(browser, { admin }) {
    await audit(browser, admin, { theme: "dark" });
  },

  async axe_finds_nothing_on_a_phone_in_light(browser, { admin }) {
    await audit(browser, admin, { theme: "light", ...phone });
  },

  async axe_finds_nothing_on_a_phone_in_dark(browser, { admin }) {
    await audit(browser, admin, { theme: "dark", ...phone });
  },

  async navigation_folds_on_a_phone(browser, { reader }) {
    const page = await browser.page({ token: reader, ...phone });
    await page.show("");
    check(!(await page.getByRole("link", { name: "Rules" }).isVisible()), "navigation is folded");
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "Rules" }).click();
    await page.getByRole("heading", { level: 1, name: "Rules" }).waitFor();
    check(!(await page.getByRole("link", { name: "Audit" }).isVisible()), "navigation folds again");
  },

  async what_restricts_says_whom_it_affects_and_asks_why(browser, { admin }) {
    const page = await browser.page({ token: admin });
    const screen = { subject: screens[3], overrides: "/overrides", blocks: "/blocks", tenants: "/tenants", keys: "/tenants/keys", tokens: "/tokens" };
    const seen = {};
    for (const [name, path] of Object.entries(screen)) seen[name] = await dialogs(page, path);
    const all = Object.values(seen).flat();
    check(seen.subject.length >= 4 && seen.tokens.length >= 4, JSON.stringify(all.map((each) => each.title)));
    for (const each of all.filter((one) => one.danger)) {
      check(each.asksWhy, `${each.title} asks for a reason`);
      check(/affects|subject|Say whom/i.test(each.effect), `${each.title} says whom it affects: ${each.effect}`);
    }
  },

  async log_in_becomes_a_session_that_scripts_cannot_read(browser, { operator }) {
    const page = await browser.page({ allowFailures: true });
    await page.show("/overrides");
    await axe(page);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("This token is wrong").waitFor();
    await page.getByLabel("Token").fill(operator);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overrides" }).waitFor();
    check((await page.evaluate(() => document.cookie)) === "", "scripts see no cookie");
    check(!(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).includes(operator), "the token is not stored");
    const [cookie] = await page.context().cookies();
    check(cookie.httpOnly && cookie.sameSite === "Strict" && cookie.value !== operator, JSON.stringify(cookie));
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.reload();
    await page.getByLabel("Token").waitFor();
  },

  async other_sites_cannot_use_the_session(browser, { operator }) {
    const page = await browser.page({ token: operator, allowFailures: true });
    await page.show("/blocks");
    const status = await page.evaluate(async (url) => (await fetch(url, { method: "POST", body: "{}" })).status, `${origin}/admin/v1/blocks`);
    check(status === 403, `a write without the console's header is refused: ${status}`);
  },

  async a_reader_is_offered_nothing_that_changes(browser, { reader }) {
    const page = await browser.page({ token: reader });
    for (const path of screens) {
      await page.show(path);
      await page.waitForTimeout(200);
      const offered = await page.locator("main button", { hasText: "…" }).allInnerTexts();
      check(offered.length === 0, `${path} offers a reader ${offered}`);
    }
  },

  async an_operator_is_not_offered_what_needs_an_admin(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/tokens");
    check((await page.getByRole("button", { name: "New token…" }).count()) === 0, "no tokens");
    await page.show("/change");
    check((await page.getByRole("button", { name: "Apply…" }).count()) === 0, "no rules");
    await page.show("/blocks");
    await page.getByRole("button", { name: "Block…", exact: true }).waitFor();
  },

  async the_keyboard_reaches_everything(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/blocks");
    await page.keyboard.press("Tab");
    check((await page.evaluate(() => document.activeElement.textContent)) === "Skip to the content", "first comes the way to the content");
    await page.keyboard.press("Enter");
    check((await page.evaluate(() => document.activeElement.id)) === "main", "and it leads there");
    await page.keyboard.press("Tab");
    check((await page.evaluate(() => document.activeElement.textContent)) === "Block…", "then the action");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    check(await page.evaluate(() => document.querySelector("dialog").contains(document.activeElement)), "the focus is in the dialog");
    await page.keyboard.press("Escape");
    await until("the focus is back", () => page.evaluate(() => document.activeElement.textContent === "Block…"));
  },

  async the_theme_can_be_chosen_and_stays(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.getByRole("button", { name: "Dark" }).click();
    const dark = await background();
    check(light !== dark, "it is dark");
    await page.reload();
    await page.getByRole("button", { name: "Light" }).waitFor();
    check((await background()) === dark, "it is still dark");
  },

  async times_are_relative_and_absolute_on_hover(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await page.show("/rules");
    const time = page.locator("time").first();
    await time.waitFor();
    check(/ago|now/.test(await time.innerText()), await time.innerText());
    check(/20\d\d at \d\d:\d\d:\d\d/.test(await time.getAttribute("title")), await time.getAttribute("title"));
  },

  async a_lost_network_is_shown_and_the_page_recovers(browser, { reader }) {
    const page = await browser.page({ token: reader, allowFailures: true });
    await page.show("");
    await page.locator(".pill").first().waitFor();
    await page.context().setOffline(true);
    await page.getByText("No answer from the server").waitFor();
    check((await page.locator(".app.lost .live").count()) > 0, "the figures are grey");
    check(/since \d\d:\d\d:\d\d/.test(await page.getByRole("alert").innerText()), "it says since when");
    await page.context().setOffline(false);
    await until("it recovers", async () => (await page.getByText("No answer from the server").count()) === 0, 30_000);
    check((await page.locator(".app.lost").count()) === 0, "the figures are not grey");
  },
};
