// Locks of npm (on ioredis) under the load of `holdfast bench`; output as in ../redis_py.py.
//   node peer.js --library redis-semaphore|redlock ...     redlock: --port is given once for each of its servers
'use strict';
const fs = require('fs');
const Redis = require('ioredis');

const args = { keys: 0, 'hold-ms': 0, ports: [] };
for (let i = 2; i < process.argv.length; i++) {
  const name = process.argv[i].slice(2);
  if (name === 'shared') args.shared = true;
  else if (name === 'library') args.library = process.argv[++i];
  else if (name === 'port') args.ports.push(Number(process.argv[++i]));
  else args[name] = Number(process.argv[++i]);
}
const now = () => Number(process.hrtime.bigint());
const sleep = ms => new Promise(done => setTimeout(done, ms));

// For each library: a function that acquires, by its defaults, and gives the function that releases; null: not in
// that time. `servers`: a connection to each.
const LIBRARIES = {
  'redis-semaphore': ([client]) => {
    const { Mutex } = require('redis-semaphore');
    return async (key, patience) => {
      // One object an acquisition, as its documentation has it.
      const mutex = new Mutex(client, key, { lockTimeout: 30000, acquireTimeout: patience });
      return (await mutex.tryAcquire()) ? () => mutex.release() : null;
    };
  },
  redlock: servers => {
    const { default: Redlock, ExecutionError } = require('redlock');
    const redlock = new Redlock(servers);
    return async (key, patience) => {
      const end = now() + patience * 1e6;
      for (;;) {
        try {
          const lock = await redlock.acquire([key], 30000);
          return () => lock.release();
        } catch (error) { // it has tried eleven times
          if (!(error instanceof ExecutionError)) throw error;
          if (now() >= end) return null;
        }
      }
    };
  },
};

async function main() {
  const callers = args.callers;
  const connections = [], locks = [];
  for (let i = 0; i < (args.shared ? 1 : callers); i++) {
    const servers = args.ports.map(port => new Redis({ port }));
    connections.push(...servers);
    locks.push(LIBRARIES[args.library](servers));
  }
  await Promise.all(connections.map(connection => connection.ping()));
  const total = { grants: new Array(callers).fill(0), wait: [], pair: [], hand_off: [], unfinished: [], longest_wait: 0, errors: 0 };
  let lastRelease = 0;
  const start = now();
  const end = start + args.seconds * 1e9;

  async function call(i) {
    const acquire = locks[args.shared ? 0 : i];
    const key = 'peer:' + (args.keys === 0 ? i : i % args.keys);
    for (;;) {
      const begin = now();
      if (begin >= end) return;
      try {
        const release = await acquire(key, Math.max(1, (end - begin) / 1e6));
        if (release === null) {
          total.longest_wait = Math.max(total.longest_wait, now() - begin);
          total.unfinished.push(now() - begin);
          return;
        }
        const granted = now();
        if (args.keys === 1 && lastRelease) total.hand_off.push(granted - lastRelease);
        if (args['hold-ms'] > 0) await sleep(args['hold-ms']);
        const leaving = now();
        lastRelease = leaving;
        await release();
        if (granted <= end) {
          total.grants[i]++;
          total.wait.push(granted - begin);
          total.pair.push(granted - begin + now() - leaving);
        }
        total.longest_wait = Math.max(total.longest_wait, granted - begin);
      } catch (error) {
        total.errors++;
        await sleep(1);
      }
    }
  }
  await Promise.all(total.grants.map((_, i) => call(i)));
  const { version } = JSON.parse(fs.readFileSync(`${__dirname}/node_modules/${args.library}/package.json`));
  console.log(JSON.stringify({ version, seconds: args.seconds, ...total }));
  connections.forEach(connection => connection.disconnect());
}
main();
