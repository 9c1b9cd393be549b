// node-redis in protocol version 3: HELLO 3, then maps come back as objects.
const { createClient } = require("redis");

async function main() {
  const client = createClient({ RESP: 3, name: "node-redis-test", socket: { port: Number(process.argv[2]), reconnectStrategy: false } });
  client.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  await client.connect();
  const throttle = await client.sendCommand(["CL.THROTTLE", "node3", "4", "1", "200"]);
  const asked = [];
  for (let i = 0; i < 6; i++) asked.push(client.sendCommand(["CL.THROTTLE", "node3-pipeline", "4", "1", "200"]));
  const limited = (await Promise.all(asked)).map((answer) => answer[0]);
  const check = await client.sendCommand(["WEIR.CHECK", "tenant", "node-redis"]);
  const rule = check instanceof Map ? check.get("rule") : Array.isArray(check) ? check[check.indexOf("rule") + 1] : check.rule;
  console.log(JSON.stringify({ throttle: [...throttle.slice(0, 4), throttle[4] * 5], limited, rule }));
  await (client.close ? client.close() : client.quit());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
