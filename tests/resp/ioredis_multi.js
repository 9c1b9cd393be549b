// ioredis: multi(), which sends MULTI, the commands and EXEC.
const Redis = require("ioredis");

async function main() {
  const client = new Redis(Number(process.argv[2]), { maxRetriesPerRequest: 1 });
  const multi = client.multi();
  for (let i = 0; i < 3; i++) multi.call("CL.THROTTLE", "ioredis-multi", 1, 1, 200);
  multi.call("WEIR.CHECK", "tenant", "ioredis-multi");
  const answers = (await multi.exec()).map(([error, answer]) => (error ? String(error) : answer));
  const check = answers.pop();
  console.log(JSON.stringify({ limited: answers.map((answer) => answer[0]), rule: check[check.indexOf("rule") + 1] }));
  await client.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
