// Model: the data of the page, and the questions that picture and list ask. Times are microseconds since the
// first event; -1 as an end means: open until the end of the history.
//
//   D.events       columns, one value an event: time, lane (-1: a fault or a mark), who, f, type, key, id, text
//                  (who, key, id and text are numbers of D.strings, f of D.functions), pair (position of the
//                  invocation or completion that belongs to it, or -1), index (as in the file; null: positions)
//   D.lanes        {name, node}
//   D.holds        [lane, from, to, end of the claim (-1: none), key, text, record, event, id]; record = 1: not a
//                  client's hold, but what a server has on record
//   D.outages      [lane, from, to, what]: the lane's process is down or stands still
//   D.faults       {name, kind, acts: [[from, to]]} with to = -1: nobody told that it healed
//   D.checks       {name, outcome, reason, violations, shown}: shown of all its violations are on the page
//   D.violations   {checks, kind, key, from, to, why, lanes, holds, events}
const $ = id => document.getElementById(id);
const D = JSON.parse($('data').textContent),
  E = D.events,
  S = D.strings,
  V = D.violations,
  END = D.end;
const INVOKE = 0,
  FAIL = 2,
  INFO = 3;
const COUNT = E.time.length;
const until = time => (time < 0 ? END : time);
const indexOf = i => (E.index ? E.index[i] : i);
const typeNames = ['invoke', 'ok', 'fail', 'info'];

function timeText(us) {
  return `${(Math.floor(us) / 1000).toFixed(3)} ms`; // never shown as later than it was
}
function spanText(us) {
  return us >= 2e6
    ? `${(us / 1e6).toFixed(2)} s`
    : us >= 1e3
      ? `${(us / 1e3).toFixed(1)} ms`
      : `${us.toFixed(1)} µs`;
}
const number = n => n.toLocaleString('en');
const many = (n, one, more = one + 's') => `${number(n)} ${n === 1 ? one : more}`;

// Intervals of one lane in the order of their beginnings. reach[i] is how far the first i + 1 reach.
function makeTrack(items, begin, end) {
  items.sort((a, b) => begin(a) - begin(b));
  const track = { items, begin: Float64Array.from(items, begin), end: Float64Array.from(items, end) };
  track.reach = new Float64Array(items.length);
  let far = -Infinity;
  track.end.forEach((to, i) => {
    track.reach[i] = far = Math.max(far, to);
  });
  return track;
}
// The first position whose value in the rising `values` is not below `limit`.
function lowerBound(values, limit) {
  let low = 0,
    high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
// Calls f(item, begin, end) for what overlaps [x0, x1]; of what is narrower than `pixel` only one each pixel.
function eachInView(track, x0, x1, pixel, f) {
  let i = lowerBound(track.reach, x0);
  while (i < track.items.length && track.begin[i] <= x1) {
    const begin = track.begin[i],
      end = track.end[i];
    if (end < x0) {
      ++i;
      continue;
    }
    f(track.items[i], begin, end);
    if (end - begin >= pixel) ++i;
    else i = Math.max(i + 1, lowerBound(track.begin, Math.max(begin, x0) + pixel * 0.6));
  }
}
const anyInView = (track, x0, x1) => {
  const i = lowerBound(track.reach, x0);
  return i < track.items.length && track.begin[i] <= x1;
};
// The item at `time`, or nearest to it within `slack`; the latest that began wins.
function itemAt(track, time, slack) {
  let best = null,
    gap = Infinity;
  for (let i = lowerBound(track.begin, time + slack) - 1, tries = 0; i >= 0 && tries < 5000; --i, ++tries) {
    if (track.reach[i] < time - slack) break;
    const away = Math.max(track.begin[i] - time, time - track.end[i], 0);
    if (away <= slack && away < gap) {
      best = track.items[i];
      gap = away;
      if (!away) break;
    }
  }
  return best;
}

const lanes = D.lanes.map(lane => ({
  ...lane,
  operations: [],
  holds: [],
  outages: [],
  events: 0,
  found: [],
}));
// An operation is drawn from its invocation; a completion without one is drawn alone.
const operationOf = i => (E.type[i] !== INVOKE && E.pair[i] >= 0 ? E.pair[i] : i);
const beginOf = i => E.time[i];
const endOf = i => (E.type[i] !== INVOKE ? E.time[i] : E.pair[i] < 0 ? END : E.time[E.pair[i]]);
const outcomeOf = i => (E.type[i] !== INVOKE ? E.type[i] : E.pair[i] < 0 ? INFO : E.type[E.pair[i]]);
for (let i = 0; i < COUNT; ++i) {
  if (E.lane[i] < 0) continue;
  ++lanes[E.lane[i]].events;
  if (operationOf(i) === i) lanes[E.lane[i]].operations.push(i);
}
D.holds.forEach((hold, i) => lanes[hold[0]].holds.push(i));
D.outages.forEach((outage, i) => lanes[outage[0]].outages.push(i));
for (const lane of lanes) {
  lane.operations = makeTrack(lane.operations, beginOf, endOf);
  lane.holds = makeTrack(
    lane.holds,
    i => D.holds[i][1],
    i => until(D.holds[i][2]),
  );
  lane.outages = makeTrack(
    lane.outages,
    i => D.outages[i][1],
    i => until(D.outages[i][2]),
  );
}
const byName = new Intl.Collator('en', { numeric: true });
const laneOrder = lanes.map((_, i) => i).sort((a, b) => byName.compare(lanes[a].name, lanes[b].name));
const nodeLanes = laneOrder.filter(i => lanes[i].node),
  clientLanes = laneOrder.filter(i => !lanes[i].node);

// The keys of locks, those of violations first.
const keys = (() => {
  const seen = new Set(V.map(v => v.key).filter(Boolean)),
    rest = new Set();
  for (const hold of D.holds) if (!hold[6] && S[hold[4]] && !seen.has(S[hold[4]])) rest.add(S[hold[4]]);
  return [...seen, ...[...rest].sort(byName.compare)];
})();
// Lanes of clients that did anything with the key.
function lanesOfKey(key) {
  const at = S.indexOf(key),
    result = new Set();
  if (at > 0) for (let i = 0; i < COUNT; ++i) if (E.key[i] === at && E.lane[i] >= 0) result.add(E.lane[i]);
  return result;
}

// Search: every word must occur in the event's process, key, id, function or text; key:, process: and is: look
// at one of them.
const lower = S.map(s => s.toLowerCase()),
  functions = D.functions.map(f => f.toLowerCase());
function wordsOf(query) {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map(word => {
      const at = word.search(':'),
        field = word.slice(0, Math.max(at, 0)),
        text = word.slice(at + 1);
      return ['key', 'process', 'is'].includes(field) && text ? { field, text } : { field: '', text: word };
    });
}
function matchesWord(i, { field, text }) {
  if (field === 'key') return lower[E.key[i]].includes(text);
  if (field === 'process') return lower[E.who[i]].includes(text);
  if (field === 'is') return typeNames[E.type[i]] === text || functions[E.f[i]] === text;
  return (
    lower[E.text[i]].includes(text) ||
    lower[E.who[i]].includes(text) ||
    lower[E.key[i]].includes(text) ||
    lower[E.id[i]].includes(text) ||
    functions[E.f[i]].includes(text)
  );
}
// Positions of the events that match, ascending; null when nothing is asked.
function search(query) {
  const words = wordsOf(query),
    result = [];
  if (!words.length) return null;
  for (let i = 0; i < COUNT; ++i) if (words.every(word => matchesWord(i, word))) result.push(i);
  return result;
}

// What happened, in one sentence.
function headline() {
  const v = V[0];
  if (v) return headlineOf(v);
  const violated = D.checks.filter(c => c.outcome === 'violated');
  if (violated.length) return `Violated: ${violated.map(c => c.name).join(', ')}`;
  const unknown = D.checks.filter(c => c.outcome === 'unknown');
  if (unknown.length) return `Unknown: ${unknown[0].name}: ${unknown[0].reason}`;
  return D.checks.length
    ? `Every check holds: ${D.checks.map(c => c.name).join(', ')}`
    : 'Nothing was checked';
}
function headlineOf(v) {
  const kind = v.kind.replaceAll('-', ' '),
    name = kind.charAt(0).toUpperCase() + kind.slice(1);
  if (v.holds.length < 2 || v.to === v.from) return v.key ? `${name}: ${v.key}` : name;
  const owners = v.holds.length === 2 ? 'two owners' : `${v.holds.length} owners`;
  return `${name}: ${v.key || 'the lock'} had ${owners} for ${spanText(until(v.to) - v.from)}`;
}
