// Makes calls with Node's own HTTP/2, which knows nothing of gRPC.
//
//   node http2_client.js URL calls [CA] < ROUNDS   a JSON list of {settings, path, body, times, cut}; the calls of a
//                                                  round are made at once, those of all rounds on one connection
//   node http2_client.js URL watch PATH BODY       says "watching" after the first answer
//
// Bodies are in base64. Prints in JSON what was answered, round by round, or what the watcher saw until it was over.
const fs = require('fs');
const http2 = require('http2');

const [url, verb, what, more] = process.argv.slice(2);
const session = http2.connect(url, verb === 'calls' && what ? {ca: fs.readFileSync(what)} : {});
const goaways = [];
session.on('goaway', (code, last) => goaways.push({code, last}));

const call = (path, body, onData = () => {}) => {
  const stream = session.request({':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers'});
  const answer = {headers: {}, trailers: {}, body: Buffer.alloc(0)};
  stream.on('response', (headers) => Object.assign(answer.headers, headers));
  stream.on('trailers', (trailers) => Object.assign(answer.trailers, trailers));
  stream.on('data', (part) => {
    answer.body = Buffer.concat([answer.body, part]);
    onData(stream, answer);
  });
  stream.end(Buffer.from(body, 'base64'));
  return new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.on('close', () => resolve({...answer, body: answer.body.toString('base64'), code: stream.rstCode}));
  });
};

const changeSettings = (settings) => new Promise((resolve) => session.settings(settings, resolve));

const makeCalls = async () => {
  const rounds = [];
  for (const {settings, path, body, times = 1, cut} of JSON.parse(fs.readFileSync(0))) {
    if (settings) await changeSettings(settings);
    const cutShort = cut ? (stream) => stream.close(http2.constants.NGHTTP2_CANCEL) : undefined;
    rounds.push(await Promise.all(Array.from({length: times}, () => call(path, body, cutShort))));
  }
  await new Promise((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())));
  const alpn = session.alpnProtocol;
  session.close();
  console.log(JSON.stringify({rounds, alpn}));
};

const watch = async () => {
  const closed = new Promise((resolve) => session.on('close', resolve));
  const answer = await call(what, more, () => console.log('watching'));
  await closed;
  console.log(JSON.stringify({answer, goaways}));
};

(verb === 'calls' ? makeCalls() : watch()).catch((error) => {
  console.error(error);
  process.exit(1);
});
