// ioredis on a plain connection: its ready check, a custom command, and a pipeline.
const Redis = require("ioredis");

async function main() {
  const client = new Redis(Number(process.argv[2]), { maxRetriesPerRequest: 1, connectionName: "ioredis-test" });
  const throttle = await client.call("CL.THROTTLE", "node", 4, 1, 200);
  const pipeline = client.pipeline();
  for (let i = 0; i < 6; i++) pipeline.call("CL.THROTTLE", "node-pipeline", 4, 1, 200);
  const limited = (await pipeline.exec()).map(([error, answer]) => (error ? String(error) : answer[0]));
  const check = await client.call("WEIR.CHECK", "tenant", "ioredis");
  console.log(JSON.stringify({ throttle: scaled(throttle), limited, rule: check[check.indexOf("rule") + 1] }));
  await client.quit();
}

// The bucket of five is full again after 5 × 200 s; one unit takes 200 s.
function scaled(answer) {
  return [...answer.slice(0, 4), answer[4] * 5];
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
