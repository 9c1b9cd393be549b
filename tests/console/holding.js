// Leases and reservations: what is held is shown, and those who may take it away.
"use strict";
const { check, origin } = require("./browser");

async function reserve(page, attributes, amount) {
  const made = await page.context().request.post(`http://${process.env.WEIR_HTTP}/v1/reservations`, { data: { attributes, amount, ttl_ms: 600000 } });
  check(made.status() === 201, await made.text());
  return made.json();
}

async function answer(page, path) {
  return page.evaluate(async (url) => (await fetch(url)).json(), `${origin}/admin/v1${path}`);
}

async function release(page, reason) {
  await page.getByRole("button", { name: "Release…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Affects 1 subject").waitFor();
  await dialog.getByText("This cannot be undone").waitFor();
  await dialog.getByRole("button", { name: "Release", exact: true }).click();
  check(await dialog.isVisible(), "a reason is required");
  await dialog.getByLabel("Reason", { exact: true }).fill(reason);
  await dialog.getByRole("button", { name: "Release", exact: true }).click();
  await page.getByText("Released", { exact: false }).first().waitFor();
}

module.exports = {
  async an_operator_releases_a_reservation(browser, { operator }) {
    const page = await browser.page({ token: operator });
    const { id } = await reserve(page, { user: "holder", action: "odd" }, 40);
    await page.show("/quotas?tab=reservations&a=user%3Dholder&a=action%3Dodd");
    const row = page.getByRole("row", { name: /odd\.name/ });
    await row.getByText("40 units").first().waitFor();
    await row.getByText(id.slice(0, 12)).waitFor();
    check((await page.getByRole("button", { name: "Release…" }).count()) === 1, "one reservation, one button, however many rules");
    await release(page, "the worker has died");
    await page.getByText("No reservation is open.").waitFor();
    const [entry] = (await answer(page, "/audit?action=reservation.release")).items;
    check(entry.reason === "the worker has died" && entry.actor === "ops-operator", JSON.stringify(entry));
  },

  async an_operator_releases_a_reservation_of_a_subject(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await reserve(page, { user: "shown", action: "odd" }, 30);
    await page.show("/subject?a=user%3Dshown&a=action%3Dodd");
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "Reservations" }) });
    await card.getByText("30 units").first().waitFor();
    await release(page, "stuck");
    await card.waitFor({ state: "detached" });
  },

  async an_operator_releases_what_holds_only_quota(browser, { operator }) {
    const page = await browser.page({ token: operator });
    const { id } = await reserve(page, { tenant: "saver", action: "report" }, 250);
    await page.show("/quotas");
    const [account] = (await answer(page, "/accounts?tenant=saver")).items;
    check(account.held === 250, JSON.stringify(account));
    await page.show(`/quotas/${account.id}`);
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "Open reservations" }) });
    await card.getByText(id.slice(0, 12)).waitFor();
    await release(page, "the report was cancelled");
    await card.waitFor({ state: "detached" });
    const after = await answer(page, `/accounts/${account.id}`);
    check(after.held === 0 && after.reservations.length === 0, JSON.stringify(after));
  },

  async a_reader_sees_what_is_held_and_may_not_take_it(browser, { reader }) {
    const page = await browser.page({ token: reader });
    await reserve(page, { user: "seen", action: "odd" }, 20);
    await page.show("/quotas?tab=reservations&a=user%3Dseen&a=action%3Dodd");
    await page.getByText("20 units").first().waitFor();
    check((await page.getByRole("button", { name: "Release…" }).count()) === 0, "no button");
    const { items } = await answer(page, "/reservations?attribute.user=seen&attribute.action=odd");
    check(items.length > 0 && items.every((each) => each.handle === null), "and no handle");
  },
};
