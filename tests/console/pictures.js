// Pictures of every screen, for the documentation: only with WEIR_PICTURES, a folder. take_pictures.py starts a server
// with something to show and runs this.
"use strict";
const fs = require("fs");
const path = require("path");

const subject = "/subject?a=tenant%3Dacme&a=user%3Danna&a=path%3D%2Fv1%2Fsearch";
const screens = {
  now: "", rules: "/rules", rule: "/rules/search-per-user", subject, decisions: "/decisions?outcome=denied", quotas: "/quotas",
  reservations: "/quotas?tab=reservations&a=tenant%3Dglobex&a=action%3Dexport",
  overrides: "/overrides", blocks: "/blocks", tenants: "/tenants", keys: "/tenants/keys", change: "/change", audit: "/audit", tokens: "/tokens",
};
const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };
const kinds = {
  light: { theme: "light", ...desktop }, dark: { theme: "dark", ...desktop },
  "phone-light": { theme: "light", ...phone }, "phone-dark": { theme: "dark", ...phone },
};
// Some of them, for a quick look: WEIR_PICTURES_OF=light,phone-dark WEIR_PICTURES_SCREENS=now,rules.
const wanted = process.env.WEIR_PICTURES_OF?.split(",");
const wantedScreens = process.env.WEIR_PICTURES_SCREENS?.split(",");
// Longer pages are cut: what is below says nothing new.
const tallest = { wide: 1240, narrow: 1800 };

/** With at most 256 colours, which is all that a screen has apart from the edges of letters. */
function smaller(file) {
  const UPNG = require("upng-js");
  const image = UPNG.decode(fs.readFileSync(file));
  fs.writeFileSync(file, Buffer.from(UPNG.encode(UPNG.toRGBA8(image), image.width, image.height, 256)));
}

async function shoot(page, file, wide) {
  await page.mouse.move(0, 0); // nothing is underlined because the pointer happens to be there
  const { width } = page.viewportSize();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const most = wide ? tallest.wide : tallest.narrow;
  await page.screenshot({ path: file, fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(most, height) } });
  smaller(file);
}

/** A draft of the rules, compared and simulated. */
async function draft(page) {
  const editor = page.getByRole("textbox", { name: "Text of the rules" });
  await page.getByText("unchanged", { exact: true }).waitFor();
  await editor.fill((await editor.inputValue()).replace("limit: 600", "limit: 900"));
  await page.locator(".after").first().waitFor();
  const simulates = await page.evaluate(async (text) => {
    const body = JSON.stringify({ text, source: "journal" });
    return (await fetch("/admin/v1/rules/simulate", { method: "POST", headers: { "X-Weir-Console": "1" }, body })).ok;
  }, await editor.inputValue());
  if (simulates) {
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.getByText(/would be denied; with the rules of now/).waitFor();
  }
  await page.mouse.move(0, 0);
  await editor.evaluate((each) => { each.blur(); each.scrollTop = 0; });
}

async function take(browser, token, folder, kind, settings) {
  const wide = settings.width > 500;
  const file = (name) => path.join(folder, `${name}-${kind}.png`);
  const page = await browser.page({ token, ...settings, allowFailures: true });
  for (const [name, address] of Object.entries(screens)) {
    if (wantedScreens && !wantedScreens.includes(name)) continue;
    await page.show(address);
    await page.waitForTimeout(1200);
    if (name === "change") await draft(page);
    await shoot(page, file(name), wide);
    if (name !== "quotas") continue;
    const account = page.locator("td a.rule").first();
    if ((await account.count()) === 0) continue;
    await account.click();
    await page.getByRole("heading", { name: "Entries" }).waitFor();
    await page.waitForTimeout(500);
    await shoot(page, file("account"), wide);
  }
  if (wantedScreens) return;
  await page.show("/blocks");
  await page.getByRole("button", { name: "Block…", exact: true }).click();
  const whom = page.getByRole("dialog").getByRole("textbox", { name: "Whom to block" });
  await whom.fill("tenant=acme");
  await whom.press("Enter");
  await page.getByRole("dialog").getByText(/^Affects/).first().waitFor();
  await page.screenshot({ path: file("block-dialog") });
  smaller(file("block-dialog"));
  await page.close();
  const out = await browser.page({ ...settings, allowFailures: true });
  await out.show("");
  await out.screenshot({ path: file("log-in") });
  smaller(file("log-in"));
}

module.exports = {
  async pictures(browser, { admin }) {
    const folder = process.env.WEIR_PICTURES;
    if (!folder) return;
    for (const [kind, settings] of Object.entries(kinds)) {
      if (wanted && !wanted.includes(kind)) continue;
      await take(browser, admin, folder, kind, settings);
    }
  },
};
