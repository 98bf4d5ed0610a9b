// A flash sale under a lock of another package, unchanged: node sell.js redis-semaphore|redlock|sesamecare-redlock [LOW..HIGH]
// LOW..HIGH: milliseconds between read and write. What it prints: checker/README.md, "What a program tells".
'use strict';
const fs = require('fs'), net = require('net'), readline = require('readline');

const env = process.env, KEY = env.HOLDFAST_KEYS.split(',')[0], LEASE = Number(env.HOLDFAST_LEASE_MS);
const [low, high] = (process.argv[3] || '300..600').split('..').map(Number);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const tell = (type, f, more = {}) => fs.writeSync(1, JSON.stringify({ type, f, key: KEY, ...more }) + '\n');

function load(name) {
  try {
    return require(name);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    fs.writeSync(2, `the npm package ${name} is missing: npm ci --prefix ${__dirname} --ignore-scripts\n`);
    process.exit(69);
  }
}

// A command waits until its server is back, as a failover needs it; who reads READONLY connects anew.
function connect(url) {
  const Redis = load('ioredis');
  const redis = new Redis(url, {
    maxRetriesPerRequest: null, retryStrategy: () => 50, connectTimeout: 2000,
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  });
  redis.on('error', () => {});  // it connects again
  return redis;
}

// Each: acquire() until it is granted, and how long it may be relied on; release(), false: it was not ours.
const locks = {
  'redis-semaphore': () => {
    const { Mutex } = load('redis-semaphore');
    let mutex;
    return {
      async acquire() {
        for (;;) {
          mutex = new Mutex(connection, KEY, {
            lockTimeout: LEASE, refreshInterval: 0, acquireTimeout: 1000, retryInterval: 20,
          });
          const sent = performance.now();
          if (await mutex.tryAcquire()) return LEASE - (performance.now() - sent);
          await sleep(20);
        }
      },
      async release() {
        await mutex.release();
        return true;  // it does not say
      },
    };
  },
  redlock: () => redlock(load('redlock').default),
  'sesamecare-redlock': () => redlock(load('@sesamecare-oss/redlock').Redlock),
};

// On all nodes if they know nothing of each other (HOLDFAST_NODES=all), else on the primary.
function redlock(Redlock) {
  const servers = env.HOLDFAST_NODES === 'all' ? env.HOLDFAST_REDIS_NODES.split(',').map(connect) : [connection];
  const manager = new Redlock(servers, { retryCount: 0 });
  manager.on('error', () => {});
  let lock;
  return {
    async acquire() {
      for (;;) {
        try {
          lock = await manager.acquire([KEY], LEASE);
          return lock.expiration - Date.now();
        } catch (error) {
          await sleep(20);
        }
      }
    },
    async release() {
      try {
        await lock.release();
        return true;
      } catch (error) {
        return false;
      }
    },
  };
}

const connection = connect(env.HOLDFAST_REDIS_URL);
const make = locks[process.argv[2]];
if (!make) throw new Error(`unknown lock ${process.argv[2]}, expected ${Object.keys(locks).join(', ')}`);
const lock = make();
const [host, port] = env.HOLDFAST_EFFECTS.split(':');
const stock = net.connect(Number(port), host);
const answers = readline.createInterface({ input: stock })[Symbol.asyncIterator]();
const ask = async (line) => {
  stock.write(line + '\n');
  return (await answers.next()).value;
};

(async () => {
  for (let left = 1; left > 0;) {
    tell('invoke', 'acquire');
    const validFor = await lock.acquire();
    tell('ok', 'acquire', { valid_for_ms: validFor });
    left = Number(await ask('READ'));
    if (left > 0) {
      await sleep(low + Math.random() * (high - low));
      await ask(`SELL ${left - 1}`);
    }
    tell('invoke', 'release');
    if (await lock.release()) tell('ok', 'release');
    else tell('fail', 'release', { error: 'not-owner' });
  }
  process.exit(0);
})().catch((error) => {
  fs.writeSync(2, `${error.stack}\n`);
  process.exit(1);
});
