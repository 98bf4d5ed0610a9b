// Canvas: what is in view, which lanes are shown and where they lie, colours and brushes. From top to bottom: a
// strip of the whole history, the axis, faults, the lanes in conflict and the nodes (they stay), the other lanes
// (they scroll).
const canvas = $('canvas'),
  g = canvas.getContext('2d');
const STRIP = 30,
  AXIS = 24,
  FAULT = 17,
  PAD = 14,
  GAP = 7;
const HEIGHTS = [4, 8, 13, 20, 34],
  FONT = 'system-ui, sans-serif';
const view = {
  x0: 0,
  x1: END,
  scroll: 0,
  height: 3,
  violation: -1,
  selected: -1,
  lanes: 'all',
  key: '',
  found: null,
  hover: null,
};
let W = 0,
  H = 0,
  LABEL = 130,
  BIG = 34,
  drawn = 0,
  C = {},
  hatches = {};
let pinned = [],
  others = [],
  place = new Map(); // lanes from top to bottom; lane -> row among its own
const owners = new Map(),
  ownerHolds = new Map(); // of the shown violation: lane, hold -> 0, 1, ...
const LETTERS = 'ABCDEFGH';
// Where there are many faults those of one kind share a row.
const faultRows = (() => {
  if (D.faults.length <= 8) return D.faults.map(f => ({ name: f.name, kind: f.kind, faults: [f] }));
  const rows = new Map();
  for (const f of D.faults) {
    if (!rows.has(f.kind)) rows.set(f.kind, { name: f.kind, kind: f.kind, faults: [] });
    rows.get(f.kind).faults.push(f);
  }
  return [...rows.values()];
})();
for (const row of faultRows) {
  row.acts = makeTrack(
    row.faults.flatMap(f => f.acts.map(([from, to]) => ({ fault: f, from, to }))),
    act => act.from,
    act => (act.to < 0 ? act.from : act.to),
  );
}

const X = time => LABEL + ((time - view.x0) / (view.x1 - view.x0)) * (W - LABEL - PAD);
const timeAt = x => view.x0 + ((x - LABEL) / (W - LABEL - PAD)) * (view.x1 - view.x0);
const pixel = () => (view.x1 - view.x0) / (W - LABEL - PAD);
const rowHeight = () => HEIGHTS[view.height];
const faultsTop = () => STRIP + AXIS;
const pinnedTop = () => faultsTop() + (faultRows.length ? faultRows.length * FAULT + 10 : 0);
const othersTop = () => pinnedTop() + pinned.length * BIG + (pinned.length ? GAP : 0);
const isPinned = lane => pinned.includes(lane);
// The upper edge of a lane's row; undefined where the lane is not shown.
function rowTop(lane) {
  const row = place.get(lane);
  if (row === undefined) return undefined;
  return isPinned(lane) ? pinnedTop() + row * BIG : othersTop() + row * rowHeight() - view.scroll;
}
const heightOf = lane => (isPinned(lane) ? BIG : rowHeight());

const isActive = lane =>
  anyInView(lane.operations, view.x0, view.x1) || anyInView(lane.holds, view.x0, view.x1);
// Which lanes are shown, and where: who conflicts on top, then the nodes, then the rest by name.
function arrange() {
  const v = V[view.violation];
  owners.clear();
  ownerHolds.clear();
  if (v)
    v.holds.forEach((hold, n) => {
      ownerHolds.set(hold, n);
      if (!owners.has(D.holds[hold][0])) owners.set(D.holds[hold][0], n);
    });
  BIG = Math.max(34, Math.min(48, Math.floor((H - pinnedTop()) / (lanes.length + 2))));
  const most = Math.max(3, Math.floor(((H - pinnedTop()) * 0.55) / BIG));
  const inConflict = v ? v.lanes.filter(i => !lanes[i].node) : [];
  pinned = [...inConflict.slice(0, Math.max(2, most - Math.min(nodeLanes.length, 2))), ...nodeLanes].slice(
    0,
    most,
  );
  const taken = new Set(pinned),
    ofKey = view.key ? lanesOfKey(view.key) : null;
  const shown = i =>
    !taken.has(i) &&
    (!ofKey || ofKey.has(i) || lanes[i].node) &&
    (view.lanes === 'all' ||
      (view.lanes === 'conflict' && (inConflict.includes(i) || lanes[i].node)) ||
      (view.lanes === 'active' && isActive(lanes[i])) ||
      (view.lanes === 'matches' && lanes[i].found.length > 0));
  others = [...inConflict, ...nodeLanes, ...clientLanes].filter(
    (i, at, all) => shown(i) && all.indexOf(i, 0) === at,
  );
  if (view.lanes === 'active') {
    // Who holds something comes before who waits.
    const holds = i => anyInView(lanes[i].holds, view.x0, view.x1);
    others = [...others.filter(holds), ...others.filter(i => !holds(i))];
  }
  place = new Map();
  pinned.forEach((lane, row) => place.set(lane, row));
  others.forEach((lane, row) => place.set(lane, row));
}
function clampView() {
  const width = Math.min(Math.max(view.x1 - view.x0, 0.01), END),
    middle = (view.x0 + view.x1) / 2;
  view.x0 = Math.max(0, Math.min(middle - width / 2, END - width));
  view.x1 = view.x0 + width;
  view.scroll = Math.max(0, Math.min(view.scroll, others.length * rowHeight() - (H - othersTop()) + 8));
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [
    'bg',
    'panel',
    'ink',
    'dim',
    'line',
    'grid',
    'op',
    'fail',
    'hold',
    'record',
    'down',
    'a',
    'b',
    'c',
    'bad',
    'badbg',
    'ok',
    'fault',
    'faultink',
    'match',
    'text',
    'select',
  ])
    C[name] = style.getPropertyValue('--' + name).trim();
  hatches = {};
}
function hatch(colour) {
  if (hatches[colour]) return hatches[colour];
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const t = tile.getContext('2d');
  t.strokeStyle = colour;
  t.lineWidth = 2;
  t.beginPath();
  for (const k of [-8, 0, 8]) {
    t.moveTo(k - 1, 9);
    t.lineTo(k + 9, -1);
  }
  t.stroke();
  return (hatches[colour] = g.createPattern(tile, 'repeat'));
}
const ownerColour = n => [C.a, C.b, C.c][n % 3];
function font(size, weight = '') {
  g.font = `${weight} ${size}px ${FONT}`.trim();
}
function box(x, y, w, h, fill, radius = 0) {
  ++drawn;
  g.fillStyle = fill;
  if (radius && w > 4) {
    g.beginPath();
    g.roundRect(x, y, w, h, radius);
    g.fill();
  } else g.fillRect(x, y, Math.max(w, 1), h);
}
// `text` cut to `width` pixels, with an ellipsis.
function fitted(text, width) {
  if (g.measureText(text).width <= width) return text;
  let low = 0,
    high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(text.slice(0, middle) + '…').width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + '…' : '';
}
