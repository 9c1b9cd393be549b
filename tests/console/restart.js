// A server that is stopped and started again while its pages are open. The test beside it does that, told by lines on
// standard output.
"use strict";
const { check, until } = require("./browser");

const say = (word) => process.stdout.write(`${word}\n`);

async function whileItIsAway(page) {
  await page.getByText("No answer from the server").waitFor();
  check((await page.locator(".app.lost .live").count()) > 0, "the figures are grey");
  check(/since \d\d:\d\d:\d\d/.test(await page.getByRole("alert").innerText()), "it says since when");
}

module.exports = {
  /** Pages of a server without tokens, of which one was open, go on by themselves. */
  the_server_restarts: async (browser) => {
    const page = await browser.page({ allowFailures: true });
    await page.show("");
    await page.locator(".pill").first().waitFor();
    const tail = await browser.page({ allowFailures: true });
    await tail.show("/decisions");
    await tail.locator("tbody tr").first().waitFor();
    say("open");
    await whileItIsAway(page);
    say("lost");
    await until("it recovers", async () => (await page.getByText("No answer from the server").count()) === 0);
    check((await page.locator(".app.lost").count()) === 0, "the figures are not grey");
    await until("requests are counted", async () => (await page.locator(".kpi .n").first().innerText()) !== "0");
    const newest = () => tail.locator("tbody tr time").first().getAttribute("datetime");
    const before = await newest();
    await until("decisions come live again", async () => (await newest()) !== before);
  },

  /** A session ends with the process that it is kept in: the page asks for the token, and goes on where it was. */
  the_server_restarts_and_sessions_end: async (browser, { operator }) => {
    const page = await browser.page({ token: operator, allowFailures: true });
    await page.show("/rules");
    await page.locator(".cards .card").first().waitFor();
    say("open");
    await page.getByText("No answer from the server").waitFor();
    say("lost");
    await page.getByLabel("Token").fill(operator);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Rules" }).waitFor();
    await page.locator(".cards .card").first().waitFor();
  },
};
