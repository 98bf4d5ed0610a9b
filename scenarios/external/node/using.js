// Orders under redlock's using(), which extends its lock by itself: node using.js redlock|sesamecare-redlock LOW..HIGH ORDERS
// One unit each; an order that fails is tried again. LOW..HIGH: milliseconds between read and write.
'use strict';
const { KEY, LEASE, sleep, tell, range, draw, load, servers, stock, run } = require('./client.js');

const packages = { redlock: ['redlock', 'default'], 'sesamecare-redlock': ['@sesamecare-oss/redlock', 'Redlock'] };
const [name, what] = packages[process.argv[2]];
const think = range(process.argv[3] || '300..600');

run(async () => {
  const manager = new (load(name)[what])(servers(), { retryDelay: 50, retryJitter: 20 });
  manager.on('error', () => {});
  const ask = stock();
  for (let orders = Number(process.argv[4] || 1); orders > 0;) {
    let inside = false, lost = false;
    tell('invoke', 'acquire');
    try {
      await manager.using([KEY], LEASE, { automaticExtensionThreshold: LEASE / 4, retryCount: -1 }, async (signal) => {
        inside = true;
        tell('ok', 'acquire');
        const left = Number(await ask('READ'));
        await sleep(draw(think));
        if (signal.aborted) {
          tell('ok', 'lost');
          lost = true;
          throw signal.error;
        }
        await ask(`SELL ${left - 1}`);
        tell('invoke', 'release');
      });
      tell('ok', 'release');
      --orders;
    } catch (error) {
      if (!inside) tell('fail', 'acquire', { error: error.message.slice(0, 100) });
      else if (!lost) tell('fail', 'release', { error: error.message.slice(0, 100) });
    }
  }
});
