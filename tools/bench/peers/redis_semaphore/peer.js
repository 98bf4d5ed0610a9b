// redis-semaphore's Mutex (on ioredis) under the load of `holdfast bench`; output as in ../redis_py.py.
'use strict';
const Redis = require('ioredis');
const { Mutex } = require('redis-semaphore');

const args = { keys: 0, 'hold-ms': 0 };
for (let i = 2; i < process.argv.length; i++) {
  const name = process.argv[i].slice(2);
  args[name] = name === 'shared' ? true : Number(process.argv[++i]);
}
const now = () => Number(process.hrtime.bigint());
const sleep = ms => new Promise(done => setTimeout(done, ms));

async function main() {
  const callers = args.callers;
  const clients = [];
  for (let i = 0; i < (args.shared ? 1 : callers); i++) clients.push(new Redis({ port: args.port }));
  await Promise.all(clients.map(client => client.ping()));
  const total = { grants: new Array(callers).fill(0), wait: [], pair: [], hand_off: [], unfinished: [], longest_wait: 0, errors: 0 };
  let lastRelease = 0;
  const start = now();
  const end = start + args.seconds * 1e9;

  async function call(i) {
    const client = clients[args.shared ? 0 : i];
    const key = 'peer:' + (args.keys === 0 ? i : i % args.keys);
    for (;;) {
      const begin = now();
      if (begin >= end) return;
      // One object an acquisition, as its documentation has it; everything else by default.
      const mutex = new Mutex(client, key, { lockTimeout: 30000, acquireTimeout: Math.max(1, (end - begin) / 1e6) });
      try {
        if (!(await mutex.tryAcquire())) {
          total.longest_wait = Math.max(total.longest_wait, now() - begin);
          total.unfinished.push(now() - begin);
          return;
        }
        const granted = now();
        if (args.keys === 1 && lastRelease) total.hand_off.push(granted - lastRelease);
        if (args['hold-ms'] > 0) await sleep(args['hold-ms']);
        const leaving = now();
        lastRelease = leaving;
        await mutex.release();
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
  const version = require('redis-semaphore/package.json').version;
  console.log(JSON.stringify({ version, seconds: args.seconds, ...total }));
  clients.forEach(client => client.disconnect());
}
main();
