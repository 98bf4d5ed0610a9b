// What every program here needs: what the harness gave it, its connections, its stock, how it tells what it does.
// Format: checker/README.md, "What a program tells".
'use strict';
const fs = require('fs'), net = require('net'), readline = require('readline');

const env = process.env, KEY = env.HOLDFAST_KEYS.split(',')[0], LEASE = Number(env.HOLDFAST_LEASE_MS);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const tell = (type, f, more = {}) => fs.writeSync(1, JSON.stringify({ type, f, key: KEY, ...more }) + '\n');
const range = (text) => text.split('..').map(Number);
const draw = ([low, high]) => low + Math.random() * (high - low);

function load(name) {
  try {
    return require(name);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    fs.writeSync(2, `the npm package ${name} is missing: npm ci --prefix ${__dirname} --ignore-scripts\n`);
    process.exit(69);
  }
}

// A command waits until its server is back, as a failover needs it; who reads READONLY, or nothing, connects anew.
function connect(url, more = {}) {
  const Redis = load('ioredis');
  const options = {
    maxRetriesPerRequest: null, retryStrategy: () => 50, connectTimeout: 2000, socketTimeout: 4000,
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false), ...more,
  };
  const redis = url ? new Redis(url, options) : new Redis({ ...options, ...bySentinels() });
  redis.on('error', () => {});  // it connects again
  return redis;
}

function bySentinels() {
  const sentinels = env.HOLDFAST_SENTINELS.split(',').map((address) => {
    const [host, port] = address.split(':');
    return { host, port: Number(port) };
  });
  return { sentinels, name: env.HOLDFAST_PRIMARY_NAME, sentinelRetryStrategy: () => 50 };
}

// HOLDFAST_NODES=cluster: by the map of its slots.
function cluster() {
  const { Cluster } = load('ioredis');
  const redis = new Cluster(env.HOLDFAST_REDIS_NODES.split(','), {
    clusterRetryStrategy: () => 50, maxRedirections: 1000, retryDelayOnFailover: 50, retryDelayOnClusterDown: 50,
    slotsRefreshTimeout: 1000, redisOptions: { connectTimeout: 1000, socketTimeout: 2000 },
  });
  redis.on('error', () => {});
  return redis;
}

// To the primary: to whom the Sentinels or the cluster name, where there are any, else to the address in front of it.
const primary = (more) =>
  env.HOLDFAST_NODES === 'cluster' ? cluster() : connect(env.HOLDFAST_SENTINELS ? null : env.HOLDFAST_REDIS_URL, more);
// To all nodes if they know nothing of each other (HOLDFAST_NODES=all), else to the primary.
const servers = (more) =>
  env.HOLDFAST_NODES === 'all' ? env.HOLDFAST_REDIS_NODES.split(',').map((url) => connect(url, more)) : [primary(more)];

// The protected resource: ask(line) gives the answer.
function stock() {
  const [host, port] = env.HOLDFAST_EFFECTS.split(':');
  const socket = net.connect(Number(port), host);
  const answers = readline.createInterface({ input: socket })[Symbol.asyncIterator]();
  return async (line) => {
    socket.write(line + '\n');
    return (await answers.next()).value;
  };
}

// HOLDFAST_FIRST=c1: the others begin two seconds later.
function run(program) {
  const late = env.HOLDFAST_FIRST && env.HOLDFAST_FIRST !== env.HOLDFAST_CLIENT ? 2000 : 0;
  sleep(late).then(program).then(() => process.exit(0)).catch((error) => {
    fs.writeSync(2, `${error.stack}\n`);
    process.exit(1);
  });
}

module.exports = { env, KEY, LEASE, sleep, tell, range, draw, load, connect, primary, servers, stock, run };
