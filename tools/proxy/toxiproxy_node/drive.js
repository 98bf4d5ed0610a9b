// Drives `holdfast proxy` by a client of Toxiproxy from npm: makes a proxy, adds latency and a reset, removes them.
//
//   npm ci && node drive.js http://127.0.0.1:8474 127.0.0.1:6379
//
// The second argument is a Redis. Prints what it saw; exit code 1 when something was not as expected.
const net = require('net');
const { Toxiproxy } = require('toxiproxy-node-client');

const [api, upstream] = process.argv.slice(2);

// Sends PING: what came back (or how the connection ended), and after how many milliseconds.
function ping(listen) {
  const [host, port] = listen.split(':');
  const start = Date.now();
  return new Promise((done) => {
    const socket = net.connect(Number(port), host, () => socket.write('PING\r\n'));
    const tell = (what) => {
      socket.destroy();
      done({ what, ms: Date.now() - start });
    };
    socket.on('data', (data) => tell(data.toString().trim()));
    socket.on('error', (error) => tell(error.code));
    socket.on('end', () => tell('end'));
  });
}

function expect(what, found, fits) {
  console.log(`${fits ? 'ok' : 'NOT AS EXPECTED'}: ${what}: ${found}`);
  if (!fits) process.exitCode = 1;
}

async function main() {
  const toxiproxy = new Toxiproxy(api);
  const proxy = await toxiproxy.createProxy({ name: 'node', listen: '127.0.0.1:0', upstream });
  let seen = await ping(proxy.listen);
  expect('without a toxic', seen.what, seen.what === '+PONG');

  const latency = await proxy.addToxic({ name: '', type: 'latency', stream: 'downstream', toxicity: 1,
    attributes: { latency: 200, jitter: 0 } });
  seen = await ping(proxy.listen);
  expect('with latency 200', `${seen.what} after ${seen.ms} ms`, seen.what === '+PONG' && seen.ms >= 200);
  await latency.remove();

  const reset = await proxy.addToxic({ name: 'cut', type: 'reset_peer', stream: 'downstream', toxicity: 1,
    attributes: { timeout: 0 } });
  seen = await ping(proxy.listen);
  expect('with reset_peer', seen.what, seen.what === 'ECONNRESET');
  await reset.remove();
  seen = await ping(proxy.listen);
  expect('without it again', seen.what, seen.what === '+PONG');

  const all = await toxiproxy.getAll();
  expect('all proxies', Object.keys(all.proxies || all), true);
  await proxy.remove();
  await toxiproxy.reset();
}

main().catch((error) => {
  console.error(error.message || error);
  process.exitCode = 1;
});
