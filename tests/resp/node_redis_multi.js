// node-redis in protocol version 3: multi(), which sends MULTI, the commands and EXEC.
const { createClient } = require("redis");

async function main() {
  const client = createClient({ RESP: 3, socket: { port: Number(process.argv[2]), reconnectStrategy: false } });
  client.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  await client.connect();
  const multi = client.multi();
  for (let i = 0; i < 3; i++) multi.addCommand(["CL.THROTTLE", "node-redis-multi", "1", "1", "200"]);
  multi.addCommand(["WEIR.CHECK", "tenant", "node-redis-multi"]);
  const answers = await multi.exec();
  const check = answers.pop();
  const rule = check instanceof Map ? check.get("rule") : Array.isArray(check) ? check[check.indexOf("rule") + 1] : check.rule;
  console.log(JSON.stringify({ limited: answers.map((answer) => answer[0]), rule }));
  await (client.close ? client.close() : client.quit());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
