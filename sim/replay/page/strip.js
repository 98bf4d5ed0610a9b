// Strip: the run as lanes over time, with the cursor. Faults on top, then servers, then clients.
const strip = $('strip');
const view = { x0: 0, x1: END, width: 800, height: 100, left: 74 };
const MOST_LANES = 24;
const ROW = 19,
  TOP = 22;

// [from, to, ...] of what a lane shows.
const lanes = [];
const acts = []; // of faults: [time, text]
{
  const serverLanes = D.servers.slice(0, D.servers.length - D.sentinels).map((name, server) => ({
    name, server, roles: [], records: [], down: [], paused: [],
  }));
  const threadLanes = D.threads.map((name, thread) => ({ name, thread, claims: [], down: [], paused: [] }));
  const open = new Map(); // what goes on: a name -> its piece
  const end = (name, time) => {
    const piece = open.get(name);
    if (piece) piece[1] = time;
    open.delete(name);
  };
  const begin = (name, list, time, ...rest) => {
    end(name, time);
    const piece = [time, END, ...rest];
    list.push(piece);
    open.set(name, piece);
  };
  for (const [time, kind, at] of STEPS) {
    if (kind === STANDING) {
      const [server, role] = D.standings[at],
        lane = serverLanes[server];
      if (!lane) continue;
      begin(`role ${server}`, lane.roles, time, role);
      if (role === 0) begin(`down ${server}`, lane.down, time);
      else end(`down ${server}`, time);
      if (role === 0) end(`pause ${D.servers[server]}`, time);
    } else if (kind === RECORD) {
      const [server, key, type, elements] = D.records[at],
        name = `record ${server} ${key}`;
      if (S[type] === '') end(name, time);
      else {
        const owner = elements.map(element => S[element[2]]).find(text => text) || '';
        begin(name, serverLanes[server].records, time, ownerClient(owner));
      }
    } else if (kind === BELIEF) {
      const [thread, dead, , claims] = D.beliefs[at],
        lane = threadLanes[thread];
      for (const name of [...open.keys()]) if (name.startsWith(`claim ${thread} `)) end(name, time);
      if (dead) begin(`dead ${thread}`, lane.down, time);
      else end(`dead ${thread}`, time);
      for (const [key, , state, , until] of claims) begin(`claim ${thread} ${key}`, lane.claims, time, state, until);
    } else if (kind === PAUSE) {
      const [party, , begins] = D.pauses[at],
        name = S[party];
      const lane = serverLanes.find(one => one.name === name);
      const of = lane ? [lane] : threadLanes.filter(one => clientOf(one.name) === name);
      of.forEach(one => {
        const piece = `pause ${one.name}`;
        if (!begins) end(piece, time);
        else if (!open.has(piece)) begin(piece, one.paused, time);
      });
    } else if (kind === TOLD && D.told[at][0] === 1) acts.push([time, S[D.told[at][2]]]);
  }
  // Of many clients those of the violations, then the first ones.
  const told = new Set(V.flatMap(place => place[7]));
  const chosen = threadLanes.filter(lane => told.has(lane.thread)).slice(0, MOST_LANES);
  for (const lane of threadLanes) if (chosen.length < MOST_LANES && !told.has(lane.thread)) chosen.push(lane);
  lanes.push(...serverLanes, ...chosen.sort((a, b) => a.thread - b.thread));
}

let C = {}; // colours of the theme
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['bg', 'panel', 'ink', 'dim', 'line', 'grid', 'down', 'bad', 'badbg', 'fault', 'faultink', 'a', 'hold',
    'k0', 'k1', 'k2', 'k3', 'k4', 'k5'])
    C[name] = style.getPropertyValue('--' + name).trim();
}
const inkOf = client => {
  const at = clients.indexOf(client);
  return at < 0 ? C.dim : C[`k${at % 6}`];
};
const X = time => view.left + ((time - view.x0) / (view.x1 - view.x0)) * (view.width - view.left - 8);
const timeAt = x => view.x0 + ((x - view.left) / (view.width - view.left - 8)) * (view.x1 - view.x0);

function resizeStrip() {
  const box = $('picture').getBoundingClientRect(),
    ratio = devicePixelRatio || 1;
  view.width = Math.max(box.width, 200);
  view.left = view.width < 600 ? 52 : 74;
  view.height = TOP + ROW * lanes.length + 6;
  strip.width = view.width * ratio;
  strip.height = view.height * ratio;
  strip.style.width = `${view.width}px`;
  strip.style.height = `${view.height}px`;
  strip.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
}
const hatches = new Map();
function hatch(c, colour) {
  if (!hatches.has(colour)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const t = tile.getContext('2d');
    t.strokeStyle = colour;
    t.lineWidth = 1.4;
    t.beginPath();
    t.moveTo(-1, 7);
    t.lineTo(7, -1);
    t.moveTo(-1, 1);
    t.lineTo(1, -1);
    t.moveTo(5, 7);
    t.lineTo(7, 5);
    t.stroke();
    hatches.set(colour, c.createPattern(tile, 'repeat'));
  }
  return hatches.get(colour);
}
function drawStrip(time) {
  const c = strip.getContext('2d'),
    right = view.width - 8;
  c.clearRect(0, 0, view.width, view.height);
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  // Times of the axis, round ones.
  const span = view.x1 - view.x0,
    raw = span / Math.max(2, (right - view.left) / 110),
    power = 10 ** Math.floor(Math.log10(raw)),
    tick = [1, 2, 5, 10].map(m => m * power).find(t => t >= raw);
  c.fillStyle = C.dim;
  c.strokeStyle = C.grid;
  c.lineWidth = 1;
  for (let t = Math.ceil(view.x0 / tick) * tick; t <= view.x1; t += tick) {
    const x = Math.round(X(t)) + 0.5;
    c.beginPath();
    c.moveTo(x, TOP - 4);
    c.lineTo(x, view.height);
    c.stroke();
    c.textAlign = 'center';
    const text = tick >= 1e6 ? `${t / 1e6} s` : tick >= 1e3 ? `${Math.round(t / 1e3)} ms` : `${Math.round(t)} µs`;
    if (x > view.left + 14 && x < right - 16) c.fillText(text, x, 8);
  }
  c.save();
  c.beginPath();
  c.rect(view.left, 0, right - view.left, view.height);
  c.clip();
  for (const place of V) {
    if (place[6] <= view.x0 || place[5] >= view.x1) continue;
    c.fillStyle = C.badbg;
    c.fillRect(X(place[5]), TOP - 4, Math.max(2, X(place[6]) - X(place[5])), view.height);
  }
  lanes.forEach((lane, row) => {
    const y = TOP + row * ROW;
    const bar = (from, to, top, height, colour, alpha = 1) => {
      if (to < view.x0 || from > view.x1) return;
      const x = Math.max(X(from), view.left - 2);
      c.globalAlpha = alpha;
      c.fillStyle = colour;
      c.fillRect(x, y + top, Math.max(1.5, Math.min(X(to), right + 2) - x), height);
      c.globalAlpha = 1;
    };
    if (lane.roles) {
      for (const [from, to, role] of lane.roles) if (role >= 2) bar(from, to, 14, role === 2 ? 2 : 0.8, role === 2 ? C.ink : C.dim);
      for (const [from, to, owner] of lane.records) bar(from, to, 3, 9, inkOf(owner));
    } else {
      for (const [from, to, state, until] of lane.claims) {
        const ink = inkOf(clientOf(lane.name));
        if (state <= 1) bar(from, to, 7, 2, C.dim);
        else if (state === 2) {
          const over = until === null ? to : Math.min(to, until);
          if (over > from) bar(from, over, 2, 12, ink);
          if (to > over) bar(Math.max(from, over), to, 2, 12, ink, 0.3);
        } else if (state === 3) bar(from, to, 6, 4, ink, 0.6);
        else bar(from, to, 6, 4, C.bad);
      }
    }
    for (const [from, to] of lane.down) bar(from, to, 1, 15, hatch(c, C.down));
    for (const [from, to] of lane.paused) bar(from, to, 1, 15, hatch(c, C.fault));
  });
  for (const [at] of acts) {
    if (at < view.x0 || at > view.x1) continue;
    c.fillStyle = C.fault;
    c.beginPath();
    c.moveTo(X(at) - 4, TOP - 6);
    c.lineTo(X(at) + 4, TOP - 6);
    c.lineTo(X(at), TOP);
    c.fill();
  }
  // The cursor.
  const x = Math.round(X(time)) + 0.5;
  c.strokeStyle = C.a;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x, 2);
  c.lineTo(x, view.height);
  c.stroke();
  c.fillStyle = C.a;
  c.beginPath();
  c.arc(x, 4, 4, 0, 7);
  c.fill();
  c.restore();
  c.textAlign = 'right';
  lanes.forEach((lane, row) => {
    c.fillStyle = lane.roles ? C.ink : inkOf(clientOf(lane.name));
    c.fillText(lane.name.length > 11 ? lane.name.slice(0, 10) + '…' : lane.name, view.left - 8, TOP + row * ROW + 8);
  });
}
// Makes sure that the cursor is in view.
function follow(time) {
  const span = view.x1 - view.x0;
  if (time >= view.x0 + span * 0.02 && time <= view.x1 - span * 0.05) return;
  show(time - span * 0.3, time + span * 0.7);
}
function show(from, to) {
  const least = Math.min(END, 200),
    span = Math.min(Math.max(to - from, least), END * 1.02);
  view.x0 = Math.max(-END * 0.005, Math.min(from, END * 1.015 - span));
  view.x1 = view.x0 + span;
}
function zoom(by, around) {
  show(around - (around - view.x0) * by, around + (view.x1 - around) * by);
}
