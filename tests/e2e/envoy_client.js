// Asks an Envoy rate limit service with gRPC's own client and Envoy's own proto files.
//
//   node envoy_client.js ADDRESS PROTO_FOLDER REQUESTS [CA CERTIFICATE KEY]
//
// REQUESTS is a JSON list of RateLimitRequests; prints a JSON list of {response} or {code, details}.
const fs = require('fs');
const path = require('path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [address, protos, requests, ca, certificate, key] = process.argv.slice(2);
const folders = ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'];
const definition = loader.loadSync('envoy/service/ratelimit/v3/rls.proto', {
  keepCase: true, defaults: true, enums: String, longs: Number, includeDirs: folders.map((name) => path.join(protos, name)),
});
const {RateLimitService} = grpc.loadPackageDefinition(definition).envoy.service.ratelimit.v3;
const file = (name) => (name ? fs.readFileSync(name) : null);
const credentials = ca ? grpc.credentials.createSsl(file(ca), file(key), file(certificate)) : grpc.credentials.createInsecure();
const client = new RateLimitService(address, credentials);

const ask = (request) => new Promise((resolve) => {
  client.ShouldRateLimit(request, {deadline: Date.now() + 10000}, (error, response) => {
    resolve(error ? {code: grpc.status[error.code], details: error.details} : {response});
  });
});

(async () => {
  const answers = [];
  for (const request of JSON.parse(requests)) answers.push(await ask(request));
  console.log(JSON.stringify(answers));
  client.close();
})();
