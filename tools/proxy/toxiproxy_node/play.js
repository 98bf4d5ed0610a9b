// Plays what the documentation of Toxiproxy 2 shows against `holdfast proxy`: by a client of Toxiproxy from npm, and by curl
// where the documentation shows its command line, which says the same in HTTP.
//
//   npm ci && node play.js http://127.0.0.1:8474 127.0.0.1:6379
//
// The second argument is a Redis that nobody else uses. One line an example; exit code 1 when one was not as expected.
// Times are only compared: what is slowed takes at least as long as it is told to, and longer than what is not.
const net = require('net');
const { execFileSync } = require('child_process');
const { Toxiproxy } = require('toxiproxy-node-client');

const [api, upstream] = process.argv.slice(2);
const toxiproxy = new Toxiproxy(api);
let failures = 0;

function expect(what, fits, found) {
  if (!fits) failures += 1;
  console.log(`${fits ? 'ok' : 'NOT AS EXPECTED'}: ${what}${found === undefined ? '' : `: ${found}`}`);
}

function curl(method, path, body) {
  const words = ['-s', '-X', method, '-w', '\n%{http_code}', `${api}${path}`];
  if (body !== undefined) words.push('-d', JSON.stringify(body));
  const text = execFileSync('curl', words, { encoding: 'utf8' });
  const end = text.lastIndexOf('\n');
  let json = null;
  try {
    json = JSON.parse(text.slice(0, end));
  } catch { /* not every answer is JSON */ }
  return { status: Number(text.slice(end + 1)), text: text.slice(0, end), json };
}

// A connection to a proxy: what came so far, and how and when it ended.
class Wire {
  constructor(listen) {
    const [host, port] = listen.split(':');
    this.received = '';
    this.pieces = 0;
    this.waiting = [];
    this.socket = net.connect(Number(port), host);
    this.socket.on('data', (data) => {
      this.received += data.toString('latin1');
      this.pieces += 1;
      this.wake();
    });
    this.socket.on('error', (error) => this.over(error.code));
    this.socket.on('end', () => this.over('end'));
    this.socket.on('close', () => this.over('end'));
  }
  over(how) {
    this.ended = this.ended || how;
    this.wake();
  }
  wake() {
    const all = this.waiting;
    this.waiting = [];
    for (const one of all) one();
  }
  async until(there) {
    while (!there() && !this.ended) await new Promise((done) => this.waiting.push(done));
  }
  // The answer to one command, of `lines` lines, or how the connection ended.
  async ask(command, lines = 1) {
    const start = process.hrtime.bigint();
    const had = this.received.length;
    if (!this.ended) this.socket.write(`${command}\r\n`);
    await this.until(() => this.received.slice(had).split('\r\n').length > lines);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    return { said: this.received.slice(had).split('\r\n').slice(0, lines).join('|') || this.ended, ms };
  }
  close() {
    this.socket.destroy();
  }
}

async function ask(listen, command, lines = 1) {
  const wire = new Wire(listen);
  const seen = await wire.ask(command, lines);
  wire.close();
  return seen;
}

// The quickest of a few.
async function usual(listen, command, lines = 1) {
  const all = [];
  for (let i = 0; i < 5; i += 1) all.push((await ask(listen, command, lines)).ms);
  return Math.min(...all);
}

async function populating() {
  const listen = 'localhost:0';
  const all = await toxiproxy.populate([
    { name: 'shop_test_redis_primary', listen, upstream },
    { name: 'shop_test_sql_primary', listen, upstream },
  ]);
  expect('populate: two proxies', Object.keys(all).length === 2, Object.keys(all));
  const proxy = await toxiproxy.get('shop_test_redis_primary');
  const wire = new Wire(proxy.listen);
  expect('populate: they work', (await wire.ask('PING')).said === '+PONG');
  await proxy.addToxic({ name: 'stays', type: 'latency', attributes: { latency: 0, jitter: 0 } });
  await toxiproxy.populate([{ name: proxy.name, listen, upstream }]);
  const same = await toxiproxy.get(proxy.name);
  expect('populate again: the proxy stays, with its connections and toxics',
    same.listen === proxy.listen && (await wire.ask('PING')).said === '+PONG' && (await proxy.getToxic('stays')).name === 'stays');
  await toxiproxy.populate([{ name: proxy.name, listen, upstream: 'localhost:1' }]);
  await wire.until(() => false);
  const other = await toxiproxy.get(proxy.name);
  expect('populate with another upstream: it is replaced', other.upstream === 'localhost:1' && Boolean(wire.ended));
  expect('an upstream that is not there: the connection is closed', (await ask(other.listen, 'PING')).said === 'end');
  wire.close();
}

async function commandLine() {
  const made = curl('POST', '/proxies', { name: 'redis', listen: 'localhost:0', upstream });
  expect('create', made.status === 201 && made.json.name === 'redis' && made.json.enabled === true, made.status);
  const { listen } = made.json;
  expect('list', 'redis' in curl('GET', '/proxies').json && curl('GET', '/proxies/redis').json.listen === listen, listen);
  expect('redis-cli: SET omg pandas, GET omg', (await ask(listen, 'SET omg pandas')).said === '+OK'
    && (await ask(listen, 'GET omg', 2)).said === '$6|pandas');
  const without = await usual(listen, 'GET omg', 2);
  const added = curl('POST', '/proxies/redis/toxics', { type: 'latency', attributes: { latency: 1000 } });
  expect('toxic add -t latency: its name and direction', added.json.name === 'latency_downstream'
    && added.json.stream === 'downstream' && added.json.toxicity === 1);
  const slow = await ask(listen, 'GET omg', 2);
  expect('GET omg takes a second longer', slow.said === '$6|pandas' && slow.ms >= 1000 && slow.ms > without);
  expect('inspect', curl('GET', '/proxies/redis').json.toxics.length === 1
    && curl('GET', '/proxies/redis/toxics').json[0].attributes.latency === 1000);
  const changed = curl('POST', '/proxies/redis/toxics/latency_downstream', { attributes: { latency: 100 } });
  expect('toxic update', changed.status === 200 && changed.json.attributes.latency === 100);
  expect('toxic update by PATCH', curl('PATCH', '/proxies/redis/toxics/latency_downstream', { toxicity: 0.5 }).json.toxicity === 0.5);
  expect('toxic remove', curl('DELETE', '/proxies/redis/toxics/latency_downstream').status === 204
    && curl('GET', '/proxies/redis/toxics').json.length === 0);
  expect('DEL omg', (await ask(listen, 'DEL omg')).said === ':1' && (await ask(listen, 'GET omg')).said === '$-1');
  expect('toggle: off', curl('POST', '/proxies/redis', { enabled: false }).json.enabled === false
    && (await ask(listen, 'PING')).said === 'ECONNREFUSED');
  expect('toggle: on', curl('PATCH', '/proxies/redis', { enabled: true }).json.enabled === true
    && (await ask(listen, 'PING')).said === '+PONG');
  expect('delete', curl('DELETE', '/proxies/redis').status === 204);
  expect('after delete nobody listens', (await ask(listen, 'PING')).said === 'ECONNREFUSED');
  const errors = [curl('GET', '/proxies/redis').status, curl('POST', '/proxies', {}).status,
    curl('POST', '/proxies', { name: 'shop_test_sql_primary', upstream }).status];
  expect('errors have their codes', errors.join() === '404,400,409', errors);
}

async function toxics() {
  const proxy = await toxiproxy.createProxy({ name: 'kinds', listen: '127.0.0.1:0', upstream });
  const { listen } = proxy;
  const large = 'x'.repeat(20000);
  await ask(listen, `SET large ${large}`);
  // What `use` makes of a connection while the toxic acts.
  const during = async (type, stream, attributes, use, toxicity = 1) => {
    const toxic = await proxy.addToxic({ name: `${type}_here`, type, stream, toxicity, attributes });
    await use(toxic);
    await toxic.remove();
  };
  const quick = await usual(listen, 'PING');

  for (const stream of ['downstream', 'upstream']) {
    await during('latency', stream, { latency: 150, jitter: 30 }, async () => {
      const seen = await ask(listen, 'PING');
      expect(`latency, ${stream}`, seen.said === '+PONG' && seen.ms >= 120 && seen.ms > quick);
    });
  }
  await during('latency', 'downstream', { latency: 100, jitter: 0 }, async (toxic) => {
    const other = await proxy.addToxic({ name: 'more', type: 'latency', stream: 'upstream', attributes: { latency: 100, jitter: 0 } });
    const seen = await ask(listen, 'PING');
    expect('two toxics act one after the other', seen.ms >= 200);
    await other.remove();
    const changed = await toxic.update({ attributes: { latency: 300 } });
    expect('update of one attribute leaves the others', changed.attributes.latency === 300 && changed.attributes.jitter === 0);
    expect('it acts at once', (await ask(listen, 'PING')).ms >= 300);
  });

  const whole = await usual(listen, 'GET large', 2);
  await during('bandwidth', 'downstream', { rate: 100 }, async () => {
    const seen = await ask(listen, 'GET large', 2);
    expect('bandwidth: 20 kB at 100 kB/s', seen.said.length > 20000 && seen.ms >= 150 && seen.ms > whole);
  });
  await during('bandwidth', 'upstream', { rate: 100 }, async () => {
    const seen = await ask(listen, `SET large ${large}`);
    expect('bandwidth, upstream', seen.said === '+OK' && seen.ms >= 150);
  });

  await during('slow_close', 'downstream', { delay: 200 }, async () => {
    const wire = new Wire(listen);
    await wire.ask('PING');
    const start = process.hrtime.bigint();
    wire.socket.write('QUIT\r\n');
    await wire.until(() => false);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    expect('slow_close: the end comes late, what was said does not', ms >= 200 && wire.received.endsWith('+OK\r\n'));
  });

  await during('timeout', 'upstream', { timeout: 150 }, async () => {
    const seen = await ask(listen, 'PING');
    expect('timeout: nothing, and then the end', seen.said === 'end' && seen.ms >= 100, seen.said);
  });
  const waits = new Wire(listen);
  let answered = false;
  const never = await proxy.addToxic({ name: 'never', type: 'timeout', stream: 'downstream', attributes: { timeout: 0 } });
  const answer = waits.ask('PING').then((seen) => { answered = true; return seen; });
  await usual(listen.replace(/.*/, (await toxiproxy.get('shop_test_sql_primary')).listen), 'PING');
  expect('timeout 0: silence', !answered && !waits.ended);
  await never.remove();
  expect('timeout 0: the end when it is removed', (await answer).said === 'end');

  await during('reset_peer', 'downstream', { timeout: 0 }, async () => {
    expect('reset_peer', (await ask(listen, 'PING')).said === 'ECONNRESET');
  });
  await during('reset_peer', 'upstream', { timeout: 150 }, async () => {
    const seen = await ask(listen, 'PING');
    expect('reset_peer with a timeout', seen.said === 'ECONNRESET' && seen.ms >= 150);
  });

  await during('slicer', 'downstream', { average_size: 2000, size_variation: 1000, delay: 5000 }, async () => {
    const wire = new Wire(listen);
    const seen = await wire.ask('GET large', 2);
    expect('slicer: in pieces, and all of it', seen.said.length === 20007 && seen.ms >= 30 && wire.pieces >= 6,
      `${wire.pieces} pieces`);
    wire.close();
  });

  await during('limit_data', 'downstream', { bytes: 100 }, async () => {
    const wire = new Wire(listen);
    wire.socket.write('GET large\r\n');
    await wire.until(() => false);
    expect('limit_data: so many bytes, and the end', wire.received.length === 100 && wire.ended === 'end', wire.received.length);
  });

  await during('reset_peer', 'downstream', { timeout: 0 }, async () => {
    let struck = 0;
    for (let i = 0; i < 40; i += 1) struck += (await ask(listen, 'PING')).said === 'ECONNRESET' ? 1 : 0;
    expect('toxicity 0.5: some connections, and not others', struck > 4 && struck < 36);
  }, 0.5);
  await during('reset_peer', 'downstream', { timeout: 0 }, async () => {
    expect('toxicity 0: none', (await ask(listen, 'PING')).said === '+PONG');
  }, 0);

  const refused = await proxy.addToxic({ name: '', type: 'down', stream: 'downstream', attributes: {} }).catch((error) => error.message);
  expect('`down` is no toxic: the proxy is disabled', typeof refused === 'string');
  const down = await proxy.update({ enabled: false });
  expect('down', down.enabled === false && (await ask(listen, 'PING')).said === 'ECONNREFUSED');
  await proxy.addToxic({ name: 'slow', type: 'latency', attributes: { latency: 100, jitter: 0 } });
  await toxiproxy.reset();
  const fresh = await toxiproxy.get('kinds');
  expect('reset: enabled, without toxics, where it was', fresh.enabled && fresh.listen === listen
    && curl('GET', '/proxies/kinds/toxics').json.length === 0 && (await ask(listen, 'PING')).said === '+PONG');
  const moved = await proxy.update({ enabled: true, listen: '127.0.0.1:0', upstream });
  expect('another address: it moves', (await ask(moved.listen, 'PING')).said === '+PONG');
  await proxy.remove();
}

async function rest() {
  expect('version', /^\d+\.\d+\.\d+$/.test(curl('GET', '/version').json.version), curl('GET', '/version').json.version);
  const proxy = await toxiproxy.createProxy({ name: 'measured', listen: '127.0.0.1:0', upstream });
  await ask(proxy.listen, 'PING');
  const { text } = curl('GET', '/metrics');
  const labels = (way) => `{direction="${way}",listener="${proxy.listen}",proxy="measured",upstream="${upstream}"}`;
  for (const line of [`toxiproxy_proxy_received_bytes_total${labels('upstream')} 6`,
    `toxiproxy_proxy_sent_bytes_total${labels('upstream')} 6`,
    `toxiproxy_proxy_received_bytes_total${labels('downstream')} 7`,
    `toxiproxy_proxy_sent_bytes_total${labels('downstream')} 7`]) {
    expect('metrics', text.split('\n').includes(line), line);
  }
  expect('metrics have their types', /^# TYPE toxiproxy_proxy_sent_bytes_total counter$/m.test(text));
  const browser = execFileSync('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-A', 'Mozilla/5.0', `${api}/version`],
    { encoding: 'utf8' });
  expect('a browser is refused', browser === '403', browser);
  expect('remove all', (await Promise.all(Object.values(await toxiproxy.getAll()).map((one) => one.remove()))).length > 0
    && Object.keys(curl('GET', '/proxies').json).length === 0);
}

populating().then(commandLine).then(toxics).then(rest).then(() => {
  console.log(failures === 0 ? 'all as expected' : `${failures} not as expected`);
  process.exitCode = failures === 0 ? 0 : 1;
}).catch((error) => {
  console.error(error.stack || error);
  process.exitCode = 1;
});
