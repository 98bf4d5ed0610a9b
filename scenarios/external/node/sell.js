// A flash sale under a lock of another package, unchanged: node sell.js LOCK [LOW..HIGH [PATIENCE]]
// LOW..HIGH: milliseconds between read and write. PATIENCE: after so many of them an acquire gives up, and so does this
// program (default: never). What it prints: checker/README.md, "What a program tells".
'use strict';
const { KEY, LEASE, sleep, tell, range, draw, load, primary, servers, stock, run } = require('./client.js');

const think = range(process.argv[3] || '300..600');
const patience = Number(process.argv[4] || Infinity);

// Each: acquire() until it is granted, and how long it may be relied on; release(), false: it was not ours.
const locks = {
  'redis-semaphore': () => semaphore('Mutex', [primary()]),
  'redis-semaphore-renewing': () => semaphore('Mutex', [primary()], { refreshInterval: 0.8 * LEASE }),
  'redis-semaphore-redlock': () => semaphore('RedlockMutex', [servers()]),
  'redis-semaphore-one-permit': () => semaphore('Semaphore', [primary(), 1]),
  redlock: () => redlock(load('redlock').default),
  'redlock-retrying': () => redlock(load('redlock').default, { retryCount: 10 }),
  'sesamecare-redlock': () => redlock(load('@sesamecare-oss/redlock').Redlock),
};

function semaphore(kind, where, more = {}) {
  const Kind = load('redis-semaphore')[kind];
  let held;
  return {
    async acquire() {
      const [connection, ...limit] = where;
      held = new Kind(connection, KEY, ...limit, {
        lockTimeout: LEASE, refreshInterval: 0, acquireTimeout: 1000, retryInterval: 20, ...more,
      });
      const end = performance.now() + patience;
      while (performance.now() < end) {
        const sent = performance.now();
        if (await held.tryAcquire()) return LEASE - (performance.now() - sent);
        await sleep(20);
      }
    },
    async release() {
      await held.release();
      return true;  // it does not say
    },
  };
}

function redlock(Redlock, more = { retryCount: 0 }) {
  const manager = new Redlock(servers(), more);
  manager.on('error', () => {});
  let lock;
  return {
    async acquire() {
      const end = performance.now() + patience;
      while (performance.now() < end) {
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

const make = locks[process.argv[2]];
if (!make) throw new Error(`unknown lock ${process.argv[2]}, expected ${Object.keys(locks).join(', ')}`);

run(async () => {
  const lock = make(), ask = stock();
  for (let left = 1; left > 0;) {
    tell('invoke', 'acquire');
    const validFor = await lock.acquire();
    if (validFor === undefined) return tell('fail', 'acquire', { error: 'timeout' });
    tell('ok', 'acquire', { valid_for_ms: validFor });
    left = Number(await ask('READ'));
    if (left > 0) {
      await sleep(draw(think));
      await ask(`SELL ${left - 1}`);
    }
    tell('invoke', 'release');
    if (await lock.release()) tell('ok', 'release');
    else tell('fail', 'release', { error: 'not-owner' });
    await sleep(draw([40, 80]));  // who asks at once is first, for ever
  }
});
