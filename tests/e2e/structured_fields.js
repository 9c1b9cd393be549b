// Reads RateLimit fields with a parser of RFC 9651: a JSON list of values in, the lists that they represent out.
const {parseList} = require('structured-headers');

const plain = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new Error(`neither a string nor an integer: ${String(value)}`);
};
const lists = JSON.parse(process.argv[2]).map((field) => parseList(field).map(([value, parameters]) => (
  {name: plain(value), ...Object.fromEntries([...parameters].map(([key, each]) => [key, plain(each)]))}
)));
console.log(JSON.stringify(lists));
