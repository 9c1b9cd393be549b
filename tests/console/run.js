// Runs one scenario against a running server: node run.js NAME. The environment names the server (WEIR_ADMIN, WEIR_HTTP,
// WEIR_PID) and tokens of each role (TOKEN_READER, TOKEN_OPERATOR, TOKEN_ADMIN). Packages are found by NODE_PATH.
"use strict";
const { Browser } = require("./browser");

const scenarios = {
  ...require("./reading"),
  ...require("./acting"),
  ...require("./holding"),
  ...require("./manners"),
  ...require("./pictures"),
  ...require("./restart"),
};

async function main() {
  const name = process.argv[2];
  if (name === "--list") return console.log(Object.keys(scenarios).join("\n"));
  const tokens = { reader: process.env.TOKEN_READER, operator: process.env.TOKEN_OPERATOR, admin: process.env.TOKEN_ADMIN };
  const browser = await Browser.start();
  let failure = null;
  try {
    await scenarios[name](browser, tokens);
  } catch (error) {
    failure = error;
  }
  try {
    await browser.stop();
  } catch (error) {
    failure = failure ? new Error(`${failure.stack}\n${error.message}`) : error;
  }
  if (failure) throw failure;
  console.log("ok");
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
