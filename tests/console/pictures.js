// Pictures of every screen, for the documentation: only with WEIR_PICTURES, a folder.
"use strict";
const path = require("path");

const screens = {
  now: "", rules: "/rules", rule: "/rules/search-per-key",
  subject: "/subject?a=tenant%3Dacme&a=api_key%3Dhot&a=path%3D%2Fv1%2Fsearch", decisions: "/decisions?outcome=denied", quotas: "/quotas",
  overrides: "/overrides", blocks: "/blocks", tenants: "/tenants", keys: "/tenants/keys", change: "/change", audit: "/audit", tokens: "/tokens",
};

async function take(browser, token, folder, kind, settings) {
  const page = await browser.page({ token, ...settings });
  for (const [name, address] of Object.entries(screens)) {
    await page.show(address);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: path.join(folder, `${name}-${kind}.png`), fullPage: settings.width < 500 && name !== "decisions" });
  }
  await page.show("/blocks");
  await page.getByRole("button", { name: "Block…", exact: true }).click();
  const whom = page.getByRole("dialog").getByRole("textbox", { name: "Whom to block" });
  await whom.fill("tenant=acme");
  await whom.press("Enter");
  await page.getByRole("dialog").getByText(/^Affects/).first().waitFor().catch(() => undefined);
  await page.screenshot({ path: path.join(folder, `block-dialog-${kind}.png`) });
  await page.close();
  const out = await browser.page({ ...settings, allowFailures: true });
  await out.show("");
  await out.screenshot({ path: path.join(folder, `log-in-${kind}.png`) });
}

module.exports = {
  async pictures(browser, { admin }) {
    const folder = process.env.WEIR_PICTURES;
    if (!folder) return;
    await take(browser, admin, folder, "light", { theme: "light", width: 1280, height: 900 });
    await take(browser, admin, folder, "dark", { theme: "dark", width: 1280, height: 900 });
    await take(browser, admin, folder, "phone-light", { theme: "light", width: 390, height: 844 });
    await take(browser, admin, folder, "phone-dark", { theme: "dark", width: 390, height: 844 });
  },
};
