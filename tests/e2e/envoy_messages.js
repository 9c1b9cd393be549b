// Checks a configuration in JSON against Envoy's own proto files: every field must exist, every enum value be known,
// every scalar be of its kind, every "@type" be a message that is there.
//
//   node envoy_messages.js PROTO_FOLDER MESSAGE JSON FILE.proto…
const fs = require('fs');
const path = require('path');
const protobuf = require('protobufjs');

const [folder, name, json, ...files] = process.argv.slice(2);
const root = new protobuf.Root();
const folders = ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'].map((each) => path.join(folder, each));
folders.push('/usr/include', path.dirname(require.resolve('protobufjs/package.json')));  // google/protobuf/*.proto
root.resolvePath = (_, target) => {
  if (path.isAbsolute(target)) return target;
  const found = folders.map((each) => path.join(each, target)).find((each) => fs.existsSync(each));
  return found || target;
};
root.loadSync(files);
root.resolveAll();

let checked = 0;
const fail = (at, what) => { throw new Error(`${at}: ${what}`); };
const kinds = {
  string: (value) => typeof value === 'string',
  bytes: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean',
};
const isScalar = (type, value) => (kinds[type] || ((each) => typeof each === 'number'))(value);

function checkMessage(type, value, at) {
  const full = type.fullName.slice(1);
  if (full === 'google.protobuf.Duration') return /^\d+(\.\d+)?s$/.test(value) || fail(at, 'is no duration');
  if (full.startsWith('google.protobuf.') && full.endsWith('Value')) {
    return isScalar(type.fields.value.type, value) || fail(at, 'is of another kind');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(at, `is no ${full}`);
  if (full === 'google.protobuf.Any') {
    const {'@type': url, ...rest} = value;
    return checkMessage(root.lookupType((url || fail(at, 'has no @type')).split('/').pop()), rest, at);
  }
  for (const [key, each] of Object.entries(value)) {
    const field = type.fields[protobuf.util.camelCase(key)];
    if (!field) fail(`${at}.${key}`, `${full} has no such field`);
    checkField(field, each, `${at}.${key}`);
  }
  return true;
}

function checkField(field, value, at) {
  if (field.map) {
    Object.entries(value).forEach(([key, each]) => checkOne(field, each, `${at}[${key}]`));
  } else if (field.repeated) {
    if (!Array.isArray(value)) fail(at, 'is no list');
    value.forEach((each, i) => checkOne(field, each, `${at}[${i}]`));
  } else {
    checkOne(field, value, at);
  }
}

function checkOne(field, value, at) {
  checked += 1;
  const type = field.resolvedType;
  if (type instanceof protobuf.Enum) {
    if (!(value in type.values)) fail(at, `${type.name} has no ${value}`);
  } else if (type) {
    checkMessage(type, value, at);
  } else if (!isScalar(field.type, value)) {
    fail(at, `is no ${field.type}`);
  }
}

try {
  checkMessage(root.lookupType(name), JSON.parse(json), name);
  console.log(JSON.stringify({checked}));
} catch (error) {
  console.log(JSON.stringify({error: error.message}));
}
