// List: the events in words, as many rows as fit on the screen; the rest is room. Linked with the picture: the
// selected event is the same in both, and what is out of view in the picture is pale in the list.
const ROW = 23,
  MOST = 8e6; // pixels that a browser can scroll
const list = $('list'),
  rows = $('rows');
let listed = [],
  scope = 'all',
  rowNodes = new Map(),
  placeInList = new Map();

const witness = new Set(); // events of the shown violation
function eventsOfScope() {
  const of = V[view.violation],
    all = view.found || null;
  if (scope === 'violation' && of) {
    const window = of.lanes.length ? new Set(of.lanes) : null,
      margin = Math.max(until(of.to) - of.from, 1) * 0.5;
    const near = i =>
      witness.has(i) ||
      (E.time[i] >= of.from - margin &&
        E.time[i] <= until(of.to) + margin &&
        (E.lane[i] < 0 || (window && window.has(E.lane[i]))));
    return (all || [...E.time.keys()]).filter(near);
  }
  const seen = i => scope !== 'view' || (E.time[i] >= view.x0 && E.time[i] <= view.x1);
  const inKey = view.key ? S.indexOf(view.key) : -1;
  const ofKey = i => inKey < 0 || E.key[i] === inKey || E.lane[i] < 0;
  if (all) return all.filter(i => seen(i) && ofKey(i));
  const result = [];
  for (let i = 0; i < COUNT; ++i) if (seen(i) && ofKey(i)) result.push(i);
  return result;
}
function refreshList() {
  listed = eventsOfScope();
  placeInList = new Map(listed.map((i, place) => [i, place]));
  rows.style.height = `${Math.min(MOST, listed.length * ROW)}px`;
  $('listcount').textContent =
    listed.length === COUNT ? many(COUNT, 'event') : `${number(listed.length)} of ${number(COUNT)}`;
  rowNodes.forEach(node => node.remove());
  rowNodes.clear();
  drawList();
}
// Beyond what a browser can scroll the list moves in greater steps.
const stretch = () =>
  Math.max(1, (listed.length * ROW - list.clientHeight) / Math.max(1, MOST - list.clientHeight));
const topRow = () => Math.floor((list.scrollTop * (listed.length * ROW > MOST ? stretch() : 1)) / ROW);
const rowTopOf = place =>
  listed.length * ROW > MOST ? place * ROW - list.scrollTop * (stretch() - 1) : place * ROW;

function drawList() {
  const first = Math.max(0, topRow() - 4),
    last = Math.min(listed.length, first + Math.ceil(list.clientHeight / ROW) + 9);
  for (const [place, node] of rowNodes)
    if (place < first || place >= last) {
      node.remove();
      rowNodes.delete(place);
    }
  for (let place = first; place < last; ++place) {
    let node = rowNodes.get(place);
    if (!node) {
      node = rowOf(listed[place], place);
      rowNodes.set(place, node);
      rows.append(node);
    }
    const i = listed[place];
    node.style.top = `${rowTopOf(place)}px`;
    node.classList.toggle('selected', i === view.selected);
    node.setAttribute('aria-selected', String(i === view.selected));
    node.classList.toggle('outside', scope !== 'view' && (E.time[i] < view.x0 || E.time[i] > view.x1));
  }
  const place = placeInList.get(view.selected);
  if (place !== undefined && rowNodes.has(place))
    list.setAttribute('aria-activedescendant', `event-${view.selected}`);
  else list.removeAttribute('aria-activedescendant');
}
function rowOf(i, place) {
  const node = document.createElement('div'),
    owner = owners.get(E.lane[i]);
  node.className = `event ${typeNames[E.type[i]]}`;
  if (E.lane[i] < 0) node.classList.add('nemesis');
  if (witness.has(i)) node.classList.add('witness');
  node.id = `event-${i}`;
  node.setAttribute('role', 'option');
  node.setAttribute('aria-setsize', String(listed.length));
  node.setAttribute('aria-posinset', String(place + 1));
  const cell = (name, text) => {
    const span = document.createElement('span');
    span.className = name;
    span.textContent = text;
    span.title = text;
    node.append(span);
    return span;
  };
  cell('time', timeText(E.time[i]));
  const who = cell('who', E.lane[i] < 0 ? 'fault' : S[E.who[i]]);
  if (E.lane[i] < 0) who.textContent = D.functions[E.f[i]];
  if (owner !== undefined) {
    node.classList.add('owner');
    who.style.color = `var(--${'abc'[owner % 3]})`;
  }
  cell('text', S[E.text[i]]);
  node.onclick = () => select(i, true);
  return node;
}
function showInList(i) {
  const place = placeInList.get(i);
  if (place === undefined) return;
  const scale = listed.length * ROW > MOST ? stretch() : 1,
    top = (place * ROW) / scale;
  if (top < list.scrollTop + ROW || top > list.scrollTop + list.clientHeight - 2 * ROW)
    list.scrollTop = Math.max(0, top - list.clientHeight / 3);
  drawList();
}
// The first event that is in view comes on top, unless the selected one is in sight.
function followView() {
  if (scope === 'view') {
    refreshList();
    return;
  }
  const chosen = view.selected >= 0 && E.time[view.selected] >= view.x0 && E.time[view.selected] <= view.x1;
  const first = chosen ? view.selected : listed.find(i => E.time[i] >= view.x0 && E.time[i] <= view.x1);
  if (first !== undefined) showInList(first);
  else drawList();
}
function step(by) {
  if (!listed.length) return;
  const place = placeInList.get(view.selected),
    next = place === undefined ? topRow() : place + by;
  select(listed[Math.min(listed.length - 1, Math.max(0, next))], true);
}
list.addEventListener('scroll', drawList);
list.addEventListener('keydown', e => {
  const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -COUNT, End: COUNT }[e.key];
  if (by === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  e.stopPropagation();
  step(by);
});

// Everything about the selected event.
function showDetail() {
  const detail = $('detail'),
    i = view.selected;
  detail.replaceChildren();
  if (i < 0) return;
  const line = (tag, text) => {
    const node = document.createElement(tag);
    node.textContent = text;
    detail.append(node);
    return node;
  };
  line('b', `${timeText(E.time[i])}  ${E.lane[i] < 0 ? '' : S[E.who[i]] + ' '}${S[E.text[i]]}`);
  const facts = [`index ${indexOf(i)}`, D.functions[E.f[i]], typeNames[E.type[i]]];
  if (S[E.id[i]]) facts.push(`acquisition ${S[E.id[i]]}`);
  line('div', facts.join(' · '));
  if (E.pair[i] >= 0) {
    const other = E.pair[i],
      later = E.time[other] >= E.time[i];
    line(
      'div',
      `${later ? 'ends' : 'began'} at ${timeText(E.time[other])}: ${S[E.text[other]]} (${spanText(Math.abs(E.time[other] - E.time[i]))})`,
    );
  }
  const hold = D.holds.findIndex(h => h[7] === i || (E.pair[i] >= 0 && h[7] === E.pair[i]));
  if (hold >= 0) for (const text of S[D.holds[hold][5]].split('\n')) line('div', text);
}
