// Model: the data of the page, and what stood at a step. Times are microseconds since the first event; numbers
// beyond 2^53 are texts.
//
//   D.steps       [time, kind, at]: what happened, in order; kind: a name of KINDS, at: the row of its table
//   D.told        [sort, who, text, thread (-1: none)]; sort: 0 client, 1 fault, 2 effect, 3 mark
//   D.records     [server, key, type ("": it is gone), [[name, value, owner]], left out, expiry (ms of the server's
//                 wall clock, or null), by]
//   D.messages    [from, to, 0 request | 1 reply, replication, connection, text, bytes, meant, delay, fate (-1: none),
//                 routine]
//   D.drawings    [stream, number, 0 word | 1 number | 2 chance, low, high, value, fixed]
//   D.standings   [server, 0 down | 1 loading | 2 primary | 3 replica, its wall clock minus the time]
//   D.beliefs     [thread, dead, doing, [[key, id, state, since, valid until | null, token, mode, note]]]
//   D.pauses      [party, act, begins]
//   D.places      [check, kind, key, why, at, from, to, [thread], first grant]: what the checks found
//
// Texts of rows are numbers of D.strings.
const D = JSON.parse($('data').textContent),
  S = D.strings,
  STEPS = D.steps,
  V = D.places,
  END = Math.max(D.end, 1);
const KINDS = ['told', 'record', 'came', 'went', 'drawn', 'standing', 'belief', 'pause'];
const TOLD = 0,
  RECORD = 1,
  CAME = 2,
  WENT = 3,
  DRAWN = 4,
  STANDING = 5,
  BELIEF = 6,
  PAUSE = 7;
const ROLES = ['down', 'loading', 'primary', 'replica'];
const STATES = ['asking', 'queued', 'holding', 'releasing', 'lost', 'unsure'];
const MEANT = ['', 'held back', 'to be lost', 'breaks the connection', 'half of it, then a reset', 'an endless reply',
  'a part of it, then the end'];
const FATES = ['delivered', 'lost', 'cut off'];
const COUNT = STEPS.length;
// What was set up lies before the first event: there the run begins.
const FIRST = Math.max(STEPS.findIndex(([, kind]) => kind === TOLD), 0) - 1;
// What an event makes its client believe belongs to it, and what its fault does to a server.
const FOLLOWS = [BELIEF, PAUSE, STANDING];
function settled(step) {
  while (step >= 0 && step + 1 < COUNT && FOLLOWS.includes(STEPS[step + 1][1]) && STEPS[step + 1][0] === STEPS[step][0]) ++step;
  return step;
}
const timeOf = step => (step < 0 ? 0 : STEPS[step][0]);

const clientOf = name => name.split('/')[0];
const clients = [...new Set(D.threads.map(clientOf))];
const colourOf = client => {
  const at = clients.indexOf(client);
  return at < 0 ? 'var(--dim)' : `var(--k${at % 6})`;
};
// "c1" of the acquisition "c1-7".
const ownerClient = owner => {
  const at = owner.lastIndexOf('-');
  return at < 0 ? owner : owner.slice(0, at);
};

// When each message came and went, by its row; the step at which it went.
const cameAt = new Float64Array(D.messages.length).fill(-1),
  wentAt = new Float64Array(D.messages.length).fill(Infinity);
STEPS.forEach(([time, kind, at]) => {
  if (kind === CAME) cameAt[at] = time;
  if (kind === WENT) wentAt[at] = time;
});

// What stands: rows of the tables, by server, thread and party.
function nothing() {
  return {
    standings: new Array(D.servers.length).fill(-1),
    records: D.servers.map(() => new Map()), // key -> row
    beliefs: new Array(D.threads.length).fill(-1),
    pauses: new Map(), // party -> acts
    flying: new Set(), // messages
  };
}
function copy(state) {
  return {
    standings: [...state.standings],
    records: state.records.map(map => new Map(map)),
    beliefs: [...state.beliefs],
    pauses: new Map([...state.pauses].map(([party, acts]) => [party, new Set(acts)])),
    flying: new Set(state.flying),
  };
}
function apply(state, step) {
  const [, kind, at] = STEPS[step];
  if (kind === RECORD) {
    const [server, key, type] = D.records[at];
    if (S[type] === '') state.records[server].delete(key);
    else state.records[server].set(key, at);
  } else if (kind === CAME) state.flying.add(at);
  else if (kind === WENT) state.flying.delete(at);
  else if (kind === STANDING) {
    const [server, role] = D.standings[at];
    state.standings[server] = at;
    if (role === 0) state.pauses.delete(D.servers[server]); // a pause is of one life
  } else if (kind === BELIEF) {
    const [thread, dead] = D.beliefs[at];
    state.beliefs[thread] = at;
    if (dead) {
      const client = clientOf(D.threads[thread]);
      state.pauses.delete(client);
      state.pauses.delete(`${client}/watchdog`);
    }
  } else if (kind === PAUSE) {
    const [party, act, begins] = D.pauses[at],
      name = S[party],
      acts = state.pauses.get(name) || new Set();
    if (begins) acts.add(act);
    else acts.delete(act);
    if (acts.size) state.pauses.set(name, acts);
    else state.pauses.delete(name);
  }
}
// Every so many steps what stood is kept.
const APART = 512;
const kept = [];
{
  const state = nothing();
  for (let step = 0; step < COUNT; ++step) {
    if (step % APART === 0) kept.push(copy(state));
    apply(state, step);
  }
}
function stateAt(step) {
  if (step < 0 || !COUNT) return nothing();
  const near = Math.floor(step / APART);
  const state = copy(kept[near]);
  for (let i = near * APART; i <= step; ++i) apply(state, i);
  return state;
}
// The last step at or before `time`; -1: none. Steps are in the order of their times.
function stepAt(time) {
  let low = 0,
    high = COUNT;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (STEPS[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
// What is left of a record's time at `time`, in µs; null: it does not expire.
function leftOf(record, standing, time) {
  const expiry = D.records[record][5];
  if (expiry === null) return null;
  const clock = standing < 0 ? 0 : D.standings[standing][2];
  return expiry * 1000 - clock - time;
}

// Where the cursor stops, by what the reader wants to see.
const stops = { events: true, records: true, messages: true, decisions: false, routine: false };
function isStop([, kind, at]) {
  if (kind === TOLD) return stops.events;
  if (kind === RECORD || kind === STANDING) return stops.records;
  if (kind === CAME || kind === WENT) return stops.messages && (stops.routine || !D.messages[at][10]);
  return kind === DRAWN && stops.decisions;
}
let stopList = [];
function findStops() {
  stopList = [];
  STEPS.forEach((step, i) => {
    if (i > FIRST && isStop(step)) stopList.push(i);
  });
}
// How many of `steps`, which are ascending, lie at or before a step.
function upTo(steps, step) {
  let low = 0,
    high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A step in words.
function words(step) {
  if (step <= FIRST) return ['', 'Before the first event'];
  const [, kind, at] = STEPS[step];
  if (kind === TOLD) {
    const [sort, who, text] = D.told[at];
    return [['client', 'fault', 'effect', 'mark'][sort], sort === 0 ? `${S[who]} ${S[text]}` : S[text]];
  }
  if (kind === RECORD) {
    const [server, key, type, elements, , , by] = D.records[at],
      cause = { command: 'a command', replication: 'replication', expiry: 'expiry', loading: 'loading' }[S[by]];
    const what = S[type] === '' ? 'is gone' : `is ${elementsText(elements, S[type])}`;
    return ['record', `${D.servers[server]}: ${S[key]} ${what}, by ${cause || S[by]}`];
  }
  if (kind === CAME) {
    const [from, to, way, , , text, , meant, delay] = D.messages[at];
    const how = meant ? `: ${MEANT[meant]}` : delay > 0 ? `, for ${spanText(delay)}` : '';
    return ['message', `${linkText(from, to, way)} under way: ${S[text]}${how}`];
  }
  if (kind === WENT) {
    const [from, to, way, , , text, , , , fate] = D.messages[at];
    return ['message', `${linkText(from, to, way)} ${FATES[fate] || ''}: ${S[text]}`];
  }
  if (kind === DRAWN) return ['decision', decisionText(at)];
  if (kind === STANDING) {
    const [server, role] = D.standings[at];
    return ['record', `${D.servers[server]} is ${role === 0 ? 'down' : role === 1 ? 'loading' : `a ${ROLES[role]}`} now`];
  }
  return words(step - 1); // a belief is told with its event, a pause with its fault
}
const linkText = (from, to, way) => (way === 0 ? `${S[from]} → ${S[to]}` : `${S[to]} → ${S[from]}`);
function elementsText(elements, type) {
  const shown = elements
    .slice(0, 3)
    .map(([name, value, owner]) => `${S[name]}${S[name] && S[value] ? ': ' : ''}${S[value]}${S[owner] ? ` (${S[owner]})` : ''}`);
  return `${type === 'string' ? '' : `${type} `}${shown.join(', ')}${elements.length > 3 ? ', …' : ''}`;
}
// A drawn value in its unit: times, but for places in an order and counts.
function valueText(stream, kind, value) {
  if (kind === 2) return value ? 'yes' : 'no';
  if (kind === 0 || typeof value === 'string') return '64 bits';
  if (stream === 'order' || stream.endsWith('/nth') || value < 1000) return number(value);
  return spanText(value / 1000);
}
function decisionText(at) {
  const [name, count, kind, low, high, value, fixed] = D.drawings[at],
    stream = S[name];
  const range = kind === 1 ? ` of ${valueText(stream, kind, low)} to ${valueText(stream, kind, high)}` : '';
  return `${stream} #${count}: ${valueText(stream, kind, value)}${range}${fixed ? ', fixed' : ''}`;
}
