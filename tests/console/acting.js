// What people do, and that the server has done it.
"use strict";
const { check, until, origin } = require("./browser");

async function fill(page, label, text) {
  await page.getByRole("dialog").getByLabel(label, { exact: true }).fill(text);
}

async function submit(page, button) {
  await page.getByRole("dialog").getByRole("button", { name: button, exact: true }).click();
}

async function answer(page, path) {
  return page.evaluate(async (url) => (await fetch(url)).json(), `${origin}/admin/v1${path}`);
}

const subject = `/subject?a=tenant%3Dacme&a=api_key%3Dhot&a=path%3D%2Fv1%2Fsearch`;

module.exports = {
  async an_operator_blocks_and_unblocks(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/subject?a=tenant%3Dblockme&a=api_key%3Dk1&a=path%3D%2Fv1%2Fsearch");
    await page.getByRole("button", { name: "Block…", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/Affects|affects/).first().waitFor();
    await dialog.getByText(/The block ends by itself in/).waitFor();
    await fill(page, "Reason", "abuse");
    await submit(page, "Block");
    await page.getByText("Blocked.", { exact: true }).waitFor();
    const [block] = (await answer(page, "/blocks")).items;
    check(block.reason === "abuse" && block.when.tenant === "blockme", JSON.stringify(block));
    await page.show("/blocks");
    await page.getByText("tenant=blockme").waitFor();
    await page.getByRole("button", { name: "Unblock…" }).first().click();
    await fill(page, "Reason", "it was a test");
    await submit(page, "Unblock");
    await page.getByText("No one is blocked.").waitFor();
  },

  async a_block_says_how_many_subjects_it_affects(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show(subject);
    await page.getByRole("button", { name: "Block…", exact: true }).click();
    await page.getByRole("dialog").getByText(/Affects \d+ subjects? of the last/).waitFor();
    await page.keyboard.press("Escape");
  },

  async an_operator_raises_a_limit_changes_it_and_ends_it(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show(subject);
    await page.getByRole("button", { name: "Raise limit…" }).click();
    await page.getByRole("dialog").getByLabel("Rule").selectOption("search-per-key");
    await fill(page, "Limit", "5000");
    await fill(page, "Reason", "launch day");
    await submit(page, "Make override");
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "Overrides" }) });
    await card.getByText("5,000").waitFor();
    await page.show("/overrides");
    await page.getByRole("button", { name: "Change…" }).click();
    await fill(page, "Limit", "7000");
    await submit(page, "Save");
    await page.locator("td .tag", { hasText: "7,000" }).waitFor();
    await page.getByRole("button", { name: "End…" }).click();
    await page.getByRole("dialog").getByText("applies again at once").waitFor();
    await fill(page, "Reason", "launch is over");
    await submit(page, "End now");
    await page.getByText("No override.").waitFor();
  },

  async an_operator_resets_what_is_used(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show(subject);
    await page.getByRole("button", { name: "Reset…" }).click();
    await page.getByRole("dialog").getByText("1 subject").waitFor();
    await page.getByRole("dialog").getByText("This cannot be undone.").waitFor();
    await fill(page, "Reason", "our mistake");
    await submit(page, "Reset");
    await page.getByText(/limits? reset/).waitFor();
    const audit = await answer(page, "/audit?action=subject.reset");
    check(audit.items.length > 0 && audit.items[0].reason === "our mistake", JSON.stringify(audit));
  },

  async an_operator_gives_a_cost_back(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/subject?a=account%3Danna&a=action%3Dlogin");
    await page.getByRole("button", { name: "Refund…" }).click();
    await page.getByRole("dialog").getByText("1 subject").waitFor();
    await fill(page, "Cost to give back", "3");
    await fill(page, "Reason", "charged twice");
    await submit(page, "Refund");
    await page.getByText(/3 given back to \d limits?/).waitFor();
    const audit = await answer(page, "/audit?action=subject.refund");
    check(audit.items[0].reason === "charged twice" && audit.items[0].after.cost === 3, JSON.stringify(audit));
  },

  async what_ends_soon_is_on_the_first_screen(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/overrides");
    await page.getByRole("button", { name: "New override…" }).click();
    const whom = page.getByRole("dialog").getByRole("textbox", { name: "For whom" });
    await whom.fill("tenant=soon");
    await whom.press("Enter");
    await page.getByRole("dialog").getByLabel("Rule").selectOption("search-per-key");
    await fill(page, "Limit", "8000");
    await page.getByRole("dialog").getByLabel("Until").selectOption("30m");
    await fill(page, "Reason", "for half an hour");
    await submit(page, "Make override");
    await page.getByText("tenant=soon").waitFor();
    await page.show("");
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "Ends soon" }) });
    await card.getByText("tenant=soon, search-per-key, 8,000/min, burst 100").waitFor();
    await card.getByText(/in (29|30) min/).waitFor();
    await page.show("/subject?a=tenant%3Dsoon&a=api_key%3Dk&a=path%3D%2Fv1%2Fsearch");
    await page.locator(".card", { has: page.getByRole("heading", { name: "Overrides" }) }).getByText("for half an hour").waitFor();
    await page.getByRole("button", { name: "End…" }).click();
    await fill(page, "Reason", "done");
    await submit(page, "End now");
    await page.getByText("Override ended").waitFor();
  },

  async an_operator_releases_a_lease(browser, { operator }) {
    const page = await browser.page({ token: operator });
    const taken = await page.context().request.post(`http://${process.env.WEIR_HTTP}/v1/leases`, {
      data: { attributes: { tenant: "holder", action: "export" } },
    });
    check(taken.status() === 201, await taken.text());
    await page.show("/quotas?tab=leases&a=tenant%3Dholder&a=action%3Dexport");
    await page.getByText("exports-active").waitFor();
    await page.getByRole("button", { name: "Release…" }).click();
    await page.getByRole("dialog").getByText("This cannot be undone").waitFor();
    await fill(page, "Reason", "the job has crashed");
    await submit(page, "Release");
    await page.getByText("No lease is held.").waitFor();
  },

  async an_admin_grants_and_adjusts_a_quota(browser, { admin, operator }) {
    const page = await browser.page({ token: admin });
    const used = await page.context().request.post(`http://${process.env.WEIR_HTTP}/v1/check`, {
      data: { attributes: { tenant: "reporter", action: "report" }, cost: 10 },
    });
    check(used.status() === 200, await used.text());
    await page.show("/quotas");
    await page.getByRole("row", { name: /tenant=reporter/ }).getByRole("link", { name: "reports-hour" }).click();
    await page.getByText("990").first().waitFor();
    await page.getByRole("button", { name: "Grant…" }).click();
    await fill(page, "Amount", "500");
    await fill(page, "Reason", "a late delivery");
    await submit(page, "Grant");
    await page.getByText("a late delivery").first().waitFor();
    await page.getByRole("button", { name: "Adjust…" }).click();
    await fill(page, "Amount", "-4");
    await fill(page, "Reason", "counted twice");
    await submit(page, "Adjust");
    await page.getByText("counted twice").first().waitFor();
    const [account] = (await answer(page, "/accounts?rule=reports-hour")).items;
    check(account.used === 6 && account.granted === 500, JSON.stringify(account));
    const other = await browser.page({ token: operator });
    await other.show(`/quotas/${account.id}`);
    await other.getByText("reports-hour").first().waitFor();
    check((await other.getByRole("button", { name: "Adjust…" }).count()) === 0, "an operator is not offered it");
  },

  async a_draft_is_tried_on_the_recorded_requests(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/change");
    const editor = page.getByRole("textbox", { name: "Text of the rules" });
    await until("the text is there", async () => (await editor.inputValue()).includes("search-per-key"));
    await editor.fill((await editor.inputValue()).replace("limit: 600", "limit: 6"));
    await page.getByText(/valid, \d+ rules/).waitFor();
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.getByText(/would be denied; with the rules of now/).waitFor();
  },

  async a_new_limit_is_tried_as_a_candidate_first(browser, { admin }) {
    const page = await browser.page({ token: admin });
    await page.show("/change");
    const editor = page.getByRole("textbox", { name: "Text of the rules" });
    await until("the text is there", async () => (await editor.inputValue()).includes("odd.name"));
    await editor.fill((await editor.inputValue()).replace("algorithm: fixed-window, limit: 100", "algorithm: fixed-window, limit: 90"));
    await page.getByRole("button", { name: "Try as candidate" }).click();
    check(/limit: 100.*candidate: \{limit: 90\}/.test(await editor.inputValue()), "the limit stays, and the new one is beside it");
    await page.getByText(/valid, \d+ rules/).waitFor();
    await page.getByText("candidate", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Discard draft" }).click();
  },

  async a_new_rule_is_tried_in_shadow_first(browser, { admin }) {
    const page = await browser.page({ token: admin });
    await page.show("/change");
    const editor = page.getByRole("textbox", { name: "Text of the rules" });
    await until("the text is there", async () => (await editor.inputValue()).includes("odd.name"));
    const rule = "  - id: trial\n    per: [user]\n    algorithm: fixed-window\n    limit: 5\n    window: 60s\n";
    await editor.fill((await editor.inputValue()).trimEnd() + "\n" + rule);
    await page.getByRole("button", { name: "Try in shadow" }).click();
    check((await editor.inputValue()).includes("  - id: trial\n    mode: shadow\n"), await editor.inputValue());
    await page.getByText(/valid, \d+ rules/).waitFor();
    await page.getByRole("button", { name: "Discard draft" }).click();
  },

  async a_reason_is_required(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show(subject);
    await page.getByRole("button", { name: "Reset…" }).click();
    await submit(page, "Reset");
    check(await page.getByRole("dialog").isVisible(), "the dialog stays");
    await page.keyboard.press("Escape");
    await until("Escape closes it", async () => !(await page.getByRole("dialog").isVisible()));
  },

  async an_operator_registers_a_tenant_and_makes_a_key(browser, { operator }) {
    const page = await browser.page({ token: operator });
    await page.show("/tenants");
    await page.getByRole("button", { name: "New tenant…" }).click();
    await fill(page, "Tenant", "globex");
    await fill(page, "Plan", "pro");
    await fill(page, "Reason", "signed up");
    await submit(page, "Save");
    const row = page.getByRole("row", { name: /globex/ });
    await row.locator(".tag", { hasText: "pro" }).waitFor();
    await row.getByRole("button", { name: "Change…" }).click();
    await fill(page, "Plan", "free");
    await page.getByRole("dialog").getByText("changes the limits of every subject").waitFor();
    await fill(page, "Reason", "downgrade");
    await submit(page, "Save");
    await row.locator(".tag", { hasText: "free" }).waitFor();

    await page.getByRole("link", { name: "Keys" }).click();
    await page.getByRole("button", { name: "New key…" }).click();
    await fill(page, "Name", "production");
    await fill(page, "Tenant", "globex");
    await submit(page, "Make key");
    await page.getByRole("dialog").getByText("It is not shown again").waitFor();
    const secret = await page.getByRole("dialog").locator("pre").innerText();
    check(secret.length > 16, "a key is shown");
    await submit(page, "Done");
    await page.getByText("production").waitFor();
    check(!(await page.content()).includes(secret), "the key is shown once");
    await page.getByRole("button", { name: "Revoke…" }).first().click();
    await fill(page, "Reason", "leaked");
    await submit(page, "Revoke");
    await page.getByText("revoked", { exact: true }).waitFor();

    await page.getByRole("link", { name: "Tenants" }).last().click();
    await row.getByRole("button", { name: "Remove…" }).click();
    await fill(page, "Reason", "left");
    await submit(page, "Remove");
    await until("the tenant is gone", async () => (await row.count()) === 0);
  },

  async an_admin_makes_and_revokes_a_token(browser, { admin }) {
    const page = await browser.page({ token: admin });
    await page.show("/tokens");
    await page.getByRole("button", { name: "New token…" }).click();
    await fill(page, "Name", "dashboards");
    await submit(page, "Make token");
    await page.getByRole("dialog").getByText("It is not shown again").waitFor();
    const token = await page.getByRole("dialog").locator("pre").innerText();
    await submit(page, "Done");
    const status = await page.evaluate(
      async ([url, secret]) => (await fetch(url, { credentials: "omit", headers: { Authorization: `Bearer ${secret}` } })).status,
      [`${origin}/admin/v1/rules/list`, token],
    );
    check(status === 200, "the token works");
    const row = page.getByRole("row", { name: /dashboards/ });
    await row.getByRole("button", { name: "Revoke…" }).click();
    await fill(page, "Reason", "not needed");
    await submit(page, "Revoke");
    await row.getByText("revoked").waitFor();
  },

  async the_audit_log_shows_who_did_what(browser, { operator, reader }) {
    const acting = await browser.page({ token: operator });
    await acting.show("/blocks");
    await acting.getByRole("button", { name: "Block…", exact: true }).click();
    const whom = acting.getByRole("dialog").getByRole("textbox", { name: "Whom to block" });
    await whom.fill("tenant=audited");
    await whom.press("Enter");
    await fill(acting, "Reason", "seen in the audit log");
    await submit(acting, "Block");
    await acting.getByText("tenant=audited").waitFor();
    const page = await browser.page({ token: reader });
    await page.show("/audit");
    await page.getByText("seen in the audit log").first().waitFor();
    await page.locator(".expand").first().click();
    await page.locator("tr.more").getByText("audited").first().waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export" }).click()]);
    const text = require("fs").readFileSync(await download.path(), "utf8");
    check(text.trim().split("\n").every((line) => JSON.parse(line).action), "the export has one record a line");
    await acting.getByRole("button", { name: "Unblock…" }).first().click();
    await fill(acting, "Reason", "done");
    await submit(acting, "Unblock");
  },

  async rules_are_checked_and_compared_before_they_apply(browser, { admin }) {
    const page = await browser.page({ token: admin, allowFailures: true });
    await page.show("/change");
    const editor = page.getByRole("textbox", { name: "Text of the rules" });
    await until("the text is there", async () => (await editor.inputValue()).includes("search-per-key"));
    const text = await editor.inputValue();
    await editor.fill(text.replace(/limit: \d+/, "limit: minus"));
    const errors = page.locator(".errors");
    await errors.getByRole("button", { name: /^Line \d+/ }).first().waitFor();
    check((await page.locator(".gutter .wrong").count()) > 0, "the line is marked");
    check(await page.getByRole("button", { name: "Apply…" }).isDisabled(), "what is invalid cannot be applied");
    await errors.getByRole("button").first().click();
    check(await editor.evaluate((each) => each === document.activeElement), "the error leads to its line");
    await editor.fill(text.replace(/limit: \d+/, "limit: 4321"));
    const changes = page.locator(".card", { has: page.getByRole("heading", { name: "What would change" }) });
    await changes.getByText("4321").first().waitFor();
    await page.getByRole("button", { name: "Discard draft" }).click();
    check((await editor.inputValue()) === text, "the draft is gone");
  },

  async an_admin_applies_rules_and_restores_a_version(browser, { admin }) {
    const page = await browser.page({ token: admin });
    await page.show("/change");
    const editor = page.getByRole("textbox", { name: "Text of the rules" });
    await until("the text is there", async () => (await editor.inputValue()).includes("search-per-key"));
    const text = await editor.inputValue();
    const before = (await answer(page, "/rules")).version;
    await editor.fill(text.replace("burst: 100", "burst: 123"));
    await page.getByText(/valid, \d+ rules/).waitFor();
    await page.getByRole("button", { name: "Apply…" }).click();
    await page.getByRole("dialog").getByText("every subject").waitFor();
    await fill(page, "Reason", "more at once");
    await submit(page, "Apply");
    await page.getByText("more at once").first().waitFor();
    check((await answer(page, "/rules")).text.includes("burst: 123"), "the server has the new text");
    const versions = page.locator(".card", { has: page.getByRole("heading", { name: "Versions" }) });
    await versions.getByRole("button", { name: `Restore version ${before}…` }).click();
    await fill(page, "Reason", "back again");
    await submit(page, "Restore");
    await page.getByText("back again").first().waitFor();
    check((await answer(page, "/rules")).text === text, "the server has the old text again");
  },

  async an_operator_promotes_a_candidate_and_discards_another(browser, { admin }) {
    const page = await browser.page({ token: admin });
    await page.show("/change");
    const editor = page.getByRole("textbox", { name: "Text of the rules" });
    const settle = async (limit, verb, said) => {
      await page.show("/change");
      await until("the text is there", async () => (await editor.inputValue()).includes("odd.name"));
      const text = await editor.inputValue();
      const flow = /\{[^\n]*odd\.name/.test(text); // on one line, until the server has written the rules
      await editor.fill(text.replace(/(odd\.name[^]*?window: \w+)/, `$1${flow ? "," : "\n   "} candidate: {limit: ${limit}}`));
      await page.getByText(/valid, \d+ rules/).waitFor();
      await page.getByRole("button", { name: "Apply…" }).click();
      await fill(page, "Reason", `try ${limit}`);
      await submit(page, "Apply");
      await page.getByText(`try ${limit}`).first().waitFor();
      await page.show("/rules/odd.name");
      const card = page.locator(".card", { has: page.getByRole("heading", { name: "Candidate", exact: true }) });
      await card.getByText("Requests compared").waitFor();
      await card.getByRole("button", { name: `${verb}…` }).click();
      await submit(page, verb);
      check(await page.getByRole("dialog").isVisible(), "a reason is needed");
      await fill(page, "Reason", `${verb} ${limit}`);
      await submit(page, verb);
      await page.getByText(said).waitFor();
      await until("the card is gone", async () => (await card.count()) === 0);
      return (await answer(page, "/rules")).text;
    };
    const promoted = await settle(77, "Promote", "The candidate enforces now");
    check(/odd\.name.*limit: 77/s.test(promoted) && !promoted.includes("candidate"), promoted);
    const discarded = await settle(55, "Discard", "The candidate was discarded");
    check(!discarded.includes("55") && !discarded.includes("candidate"), discarded);
    const actions = (await answer(page, "/audit?limit=50")).items.map((each) => each.action);
    check(actions.some((each) => each.includes("promote")) && actions.some((each) => each.includes("discard")), actions.join(" "));
  },
};
