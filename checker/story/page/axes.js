// Axes: the strip of the whole history, the axis of what is in view, marks, the scroll bar; and what lies under
// the pointer.
const BINS = 400;
const density = (() => {
  // events of each bin, as a part of the most
  const bins = new Float64Array(BINS);
  for (let i = 0; i < COUNT; ++i)
    ++bins[Math.min(BINS - 1, Math.max(0, Math.floor((E.time[i] / END) * BINS)))];
  const most = bins.reduce((a, b) => Math.max(a, b), 1);
  return bins.map(n => Math.sqrt(n / most));
})();
const marks = (() => {
  const f = D.functions.indexOf('mark'),
    found = [];
  for (let i = 0; f >= 0 && i < COUNT; ++i) if (E.f[i] === f) found.push(i);
  return found;
})();

function ticks() {
  let step = 1e-3;
  const least = pixel() * 110;
  for (let i = 0; step < least; ++i) step *= [2, 2.5, 2][i % 3];
  const result = [];
  for (let k = Math.ceil(view.x0 / step); k * step <= view.x1; ++k) result.push(k * step);
  return { step, result };
}
function drawGrid(edge) {
  g.fillStyle = C.grid;
  for (const time of ticks().result) {
    const x = X(time);
    if (x <= edge) g.fillRect(x, pinnedTop() - 3, 1, H);
  }
}
function drawAxis(edge) {
  g.fillStyle = C.bg;
  g.fillRect(0, STRIP, W, AXIS);
  const { step, result } = ticks();
  const [unit, name] = view.x1 >= 1e7 ? [1e6, 's'] : view.x1 >= 1e3 ? [1e3, 'ms'] : [1, 'µs'];
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  font(11);
  let used = -Infinity;
  for (const time of result) {
    const x = X(time),
      text = `${(time / unit).toFixed(digits)} ${name}`,
      wide = g.measureText(text).width;
    g.fillStyle = C.dim;
    g.fillRect(x, STRIP + AXIS - 6, 1, 5);
    if (x < used || x + 4 + wide > edge) continue;
    g.fillText(text, x + 4, STRIP + AXIS / 2 + 1);
    used = x + wide + 16;
  }
  g.fillStyle = C.line;
  g.fillRect(0, STRIP + AXIS - 1, W, 1);
  let last = -Infinity;
  for (const i of marks) {
    // points of the story that were reached
    const x = X(E.time[i]);
    if (x < LABEL || x > edge || x - last < 7) continue;
    last = x;
    ++drawn;
    g.fillStyle = C.dim;
    g.beginPath();
    g.moveTo(x - 4, STRIP + 2);
    g.lineTo(x + 4, STRIP + 2);
    g.lineTo(x, STRIP + 8);
    g.fill();
  }
}
function drawStrip(edge) {
  const wide = edge - LABEL,
    at = time => LABEL + (time / END) * wide,
    top = 4,
    low = STRIP - 4;
  g.fillStyle = C.bg;
  g.fillRect(0, 0, W, STRIP);
  g.fillStyle = C.panel;
  g.fillRect(LABEL, top, wide, low - top);
  g.fillStyle = C.op;
  g.globalAlpha = 0.8;
  density.forEach((part, i) => {
    if (part)
      g.fillRect(
        LABEL + (i * wide) / BINS,
        low - Math.max(part * (low - top - 5), 1),
        wide / BINS,
        Math.max(part * (low - top - 5), 1),
      );
  });
  g.globalAlpha = 1;
  if (view.found) {
    g.fillStyle = C.match;
    let used = -Infinity;
    for (const i of view.found) {
      const x = at(E.time[i]);
      if (x - used >= 1.5) {
        g.fillRect(x - 1, low - 9, 2, 9);
        used = x;
      }
    }
  }
  g.fillStyle = C.bad;
  let used = -Infinity;
  V.forEach((v, n) => {
    const x = at(v.from),
      to = Math.max(at(until(v.to)), x + 2);
    if (n !== view.violation && to < used + 1) return;
    g.fillRect(x - 1, top, to - x + 1, n === view.violation ? 6 : 4);
    used = to;
  });
  const a = Math.max(at(view.x0), LABEL),
    b = Math.max(Math.min(at(view.x1), edge), a + 4);
  g.fillStyle = C.bg;
  g.globalAlpha = 0.6;
  g.fillRect(LABEL, top, a - LABEL, low - top);
  g.fillRect(b, top, edge - b, low - top);
  g.globalAlpha = 1;
  g.strokeStyle = C.ink;
  g.lineWidth = 1.5;
  g.strokeRect(a, top - 0.5, b - a, low - top + 1);
}
// {top, height} of the thumb, or null where everything fits.
function scrollbar() {
  const room = H - othersTop(),
    all = others.length * rowHeight();
  if (all <= room) return null;
  const height = Math.max(24, (room * room) / all);
  return { top: othersTop() + ((room - height) * view.scroll) / Math.max(1, all - room + 8), height };
}
function drawScrollbar() {
  const thumb = scrollbar();
  if (!thumb) return;
  g.fillStyle = C.bg;
  g.fillRect(W - PAD + 2, othersTop(), PAD, H);
  box(W - 9, thumb.top, 6, thumb.height, C.down, 3);
}

// What lies at a point of the canvas: {part, lane, event, text} or null. `event` is a position in the history.
function under(x, y) {
  if (y < STRIP) return { part: 'strip' };
  if (y < faultsTop()) return { part: 'axis' };
  const time = timeAt(x),
    slack = pixel() * 4;
  if (y < pinnedTop() - 3) {
    const row = faultRows[Math.floor((y - faultsTop() - 5) / FAULT)];
    if (!row) return null;
    const act = x >= LABEL ? itemAt(row.acts, time, slack * 1.5) : null;
    const fault = act ? act.fault : row.faults[0];
    const title = fault.name === fault.kind ? fault.name : `${fault.name} (${fault.kind})`;
    if (!act) return { part: 'fault', text: x < LABEL ? `fault ${title}` : null };
    const span = act.to < 0 ? `at ${timeText(act.from)}` : `${timeText(act.from)} to ${timeText(act.to)}`;
    return { part: 'fault', text: `fault ${title}\n${span}`, event: eventOfFault(fault, act.from) };
  }
  let lane;
  if (y < othersTop()) lane = pinned[Math.floor((y - pinnedTop()) / BIG)];
  else lane = others[Math.floor((y - othersTop() + view.scroll) / rowHeight())];
  if (lane === undefined) return null;
  if (x < LABEL)
    return { part: 'label', lane, text: `${lanes[lane].name}\n${many(lanes[lane].events, 'event')}` };
  if (x > W - PAD) return { part: 'scrollbar' };
  return { part: 'lane', lane, ...at(lane, time, slack, y - rowTop(lane)) };
}
function at(lane, time, slack, dy) {
  const l = lanes[lane],
    hold = itemAt(l.holds, time, slack),
    operation = itemAt(l.operations, time, slack);
  const outage = itemAt(l.outages, time, 0);
  const clash = V.find(v => v.lanes.includes(lane) && time >= v.from - slack && time <= until(v.to) + slack);
  const tail = clash ? `\n✖ ${clash.why}` : '';
  const upper = heightOf(lane) >= 20 && dy < 9;
  if (hold !== null && !(upper && operation !== null))
    return { event: D.holds[hold][7], hold, text: `${l.name}: ${S[D.holds[hold][5]]}${tail}` };
  if (operation !== null) return { event: operation, text: operationText(operation) + tail };
  if (outage !== null) return { text: `${l.name}: ${D.outages[outage][3]}` };
  return { text: null };
}
function operationText(i) {
  const line = k => `${timeText(E.time[k])}  ${S[E.who[k]]} ${S[E.text[k]]}`;
  return E.pair[i] >= 0 ? `${line(i)}\n${line(E.pair[i])}` : line(i);
}
function eventOfFault(fault, time) {
  const f = D.functions.indexOf('fault');
  for (let i = 0; i < COUNT; ++i)
    if (E.f[i] === f && E.time[i] === time && S[E.key[i]] === fault.name) return i;
  return undefined;
}
