// View: moving, choosing, searching, filtering. Every change ends in changed() or moved(), which draw anew.
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}
// The stretch of time or the scroll position changed.
let follow = 0;
function moved() {
  clampView();
  redraw();
  tell();
  clearTimeout(follow);
  follow = setTimeout(settle, 60);
}
function settle() {
  clearTimeout(follow);
  if (view.lanes === 'active') {
    arrange();
    clampView();
    redraw();
  }
  followView();
}
// What is shown changed: lanes, violation, search.
function changed() {
  arrange();
  clampView();
  redraw();
  refreshList();
  tell();
}
function zoom(factor, around = (view.x0 + view.x1) / 2) {
  view.x0 = around - (around - view.x0) * factor;
  view.x1 = around + (view.x1 - around) * factor;
  moved();
}
function pan(part, pixels) {
  const width = view.x1 - view.x0;
  view.x0 += part * width;
  view.x1 += part * width;
  view.scroll += pixels;
  moved();
}
function fit() {
  view.x0 = 0;
  view.x1 = END;
  view.scroll = 0;
  moved();
}

function resize() {
  const box = $('picture').getBoundingClientRect(),
    ratio = devicePixelRatio || 1;
  W = Math.max(240, Math.floor(box.width));
  H = Math.max(80, Math.floor(box.height));
  canvas.width = W * ratio;
  canvas.height = H * ratio;
  canvas.style.width = `${W}px`;
  canvas.style.height = `${H}px`;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  font(12, 'bold');
  const names = [...lanes.map(l => l.name), ...D.faults.map(f => `${f.name}  `)].sort(
    (a, b) => b.length - a.length,
  );
  const widest = Math.max(0, ...names.slice(0, 20).map(name => g.measureText(name).width));
  LABEL = Math.round(Math.min(Math.max(110, widest + 48, D.faults.length ? 190 : 0), W * 0.28));
  readColours();
  arrange();
  clampView();
  draw();
  drawList();
}
// For those who do not see the picture.
function tell() {
  const rows = pinned.length + others.length;
  canvas.setAttribute(
    'aria-label',
    `Timeline from ${timeText(view.x0)} to ${timeText(view.x1)}, ${many(rows, 'lane')}` +
      (V[view.violation] ? `, violation ${view.violation + 1} of ${V.length}` : ''),
  );
}

function select(i, bring) {
  view.selected = i;
  if (bring && i >= 0) {
    // into sight
    const width = view.x1 - view.x0,
      time = E.time[i];
    if (time < view.x0 || time > view.x1) {
      view.x0 = time - width / 2;
      view.x1 = time + width / 2;
    }
    const y = E.lane[i] >= 0 ? rowTop(E.lane[i]) : undefined;
    if (y !== undefined && !isPinned(E.lane[i]) && (y < othersTop() || y + rowHeight() > H))
      view.scroll += y - othersTop() - (H - othersTop()) / 3;
    clampView();
  }
  showDetail();
  redraw();
  showInList(i);
  drawList();
}

function goTo(n) {
  if (!V.length) return;
  view.violation = (n + V.length) % V.length;
  const v = V[view.violation],
    to = until(v.to),
    least = Math.max(to - v.from, END / 5000, 1);
  witness.clear();
  for (const i of v.events) witness.add(i);
  let from = v.from; // with the beginning of the holds, if that is not too far away
  for (const hold of v.holds)
    if (v.from - D.holds[hold][1] < least * 8) from = Math.min(from, D.holds[hold][1]);
  const margin = Math.max((to - from) * 0.22, least * 0.2);
  view.x0 = from - margin;
  view.x1 = to + margin;
  view.scroll = 0;
  view.selected = -1;
  $('headline').textContent = headlineOf(v);
  $('why').textContent = v.why;
  $('which').textContent = `${number(view.violation + 1)} of ${number(V.length)}`;
  showDetail();
  changed();
  resize();
  const at = v.holds.length ? Math.max(...v.holds.map(hold => D.holds[hold][7])) : v.events.at(-1);
  if (at !== undefined) select(at, false);
}

function find(query) {
  view.found = search(query);
  for (const lane of lanes) {
    lane.found = [];
    lane.foundTimes = [];
  }
  if (view.found) for (const i of view.found) if (E.lane[i] >= 0) lanes[E.lane[i]].found.push(i);
  for (const lane of lanes) {
    lane.found.sort((a, b) => E.time[a] - E.time[b]);
    lane.foundTimes = Float64Array.from(lane.found, i => E.time[i]);
  }
  const touched = lanes.filter(lane => lane.found.length).length;
  $('found').textContent = !view.found
    ? ''
    : view.found.length
      ? `${number(view.found.length)} found in ${many(touched, 'lane')}`
      : 'nothing found';
  document.querySelector('[data-lanes=matches]').disabled = !view.found;
  if (!view.found && view.lanes === 'matches') showLanes('all');
  else changed();
}
function nextFound(by) {
  if (!view.found || !view.found.length) return;
  const here = view.selected,
    after = view.found.findIndex(i => i > here);
  let next = by > 0 ? after : (after < 0 ? view.found.length : after) - 1;
  if (by < 0 && next >= 0 && view.found[next] === here) --next;
  select(view.found.at(next < 0 ? (by > 0 ? 0 : -1) : next), true);
}
function press(attribute, value) {
  for (const button of document.querySelectorAll(`[data-${attribute}]`))
    button.setAttribute('aria-pressed', String(button.dataset[attribute] === value));
}
function showLanes(which) {
  view.lanes = which;
  view.scroll = 0;
  press('lanes', which);
  changed();
}
function showScope(which) {
  scope = which;
  press('scope', which);
  refreshList();
  list.scrollTop = 0;
  showInList(view.selected);
}
function rowsBy(by) {
  const middle = (view.scroll + (H - othersTop()) / 2) / rowHeight();
  view.height = Math.min(HEIGHTS.length - 1, Math.max(0, view.height + by));
  view.scroll = middle * rowHeight() - (H - othersTop()) / 2;
  $('lower').disabled = view.height === 0;
  $('higher').disabled = view.height === HEIGHTS.length - 1;
  moved();
}
function toggleList() {
  const hidden = document.body.classList.toggle('nolist');
  $('listed').setAttribute('aria-pressed', String(!hidden));
  resize();
}
function toggleHelp(open = $('help').hidden) {
  $('help').hidden = !open;
  $('helped').setAttribute('aria-expanded', String(open));
}
const systemDark = matchMedia('(prefers-color-scheme: dark)');
let chosenTheme = '';
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
  legend();
  redraw();
}
function toggleTheme() {
  chosenTheme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  setTheme(chosenTheme);
}
