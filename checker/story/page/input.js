// Input: what keys, wheel, mouse and fingers do.
const commands = {
  ArrowLeft: () => pan(-0.15, 0),
  ArrowRight: () => pan(0.15, 0),
  ArrowUp: () => pan(0, -rowHeight() * 2),
  ArrowDown: () => pan(0, rowHeight() * 2),
  PageUp: () => pan(0, othersTop() + rowHeight() - H),
  PageDown: () => pan(0, H - othersTop() - rowHeight()),
  '+': () => zoom(0.6),
  '=': () => zoom(0.6),
  '-': () => zoom(1 / 0.6),
  '−': () => zoom(1 / 0.6),
  0: fit,
  Home: fit,
  n: () => goTo(view.violation + 1),
  p: () => goTo(view.violation - 1),
  v: () => goTo(view.violation),
  '[': () => rowsBy(-1),
  ']': () => rowsBy(1),
  l: toggleList,
  t: toggleTheme,
  '?': () => toggleHelp(),
  '/': () => {
    $('search').focus();
    $('search').select();
  },
  Escape: () => {
    toggleHelp(false);
    select(-1, false);
  },
};
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || ['INPUT', 'SELECT'].includes(e.target.tagName)) return;
  if (!Object.hasOwn(commands, e.key)) return;
  e.preventDefault();
  commands[e.key]();
});
$('search').addEventListener('input', () => find($('search').value));
$('search').addEventListener('keydown', e => {
  if (e.key === 'Enter') {
    e.preventDefault();
    nextFound(e.shiftKey ? -1 : 1);
  }
  if (e.key === 'Escape') {
    $('search').value = '';
    find('');
    canvas.focus();
  }
});

const fingers = new Map(); // by pointer: where it was last
let gesture = null; // what the first of them took hold of
function pointOf(e) {
  const box = canvas.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
}
canvas.addEventListener('pointerdown', e => {
  const [x, y] = pointOf(e),
    hit = under(x, y);
  if (e.isTrusted) canvas.setPointerCapture(e.pointerId);
  fingers.set(e.pointerId, [x, y]);
  gesture = { part: hit && hit.part, x, y, moved: false };
  hideTip();
});
canvas.addEventListener('pointermove', e => {
  const [x, y] = pointOf(e),
    last = fingers.get(e.pointerId);
  if (!last) {
    hover(x, y);
    return;
  }
  if (fingers.size === 2) {
    const [other] = [...fingers].filter(([id]) => id !== e.pointerId).map(([, point]) => point);
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]),
      now = Math.hypot(x - other[0], y - other[1]);
    fingers.set(e.pointerId, [x, y]);
    gesture.moved = true;
    if (before > 10 && now > 10) zoom(before / now, timeAt((x + other[0]) / 2));
    return;
  }
  if (!gesture.moved && Math.hypot(x - gesture.x, y - gesture.y) < 4) return;
  gesture.moved = true;
  fingers.set(e.pointerId, [x, y]);
  if (gesture.part === 'strip') {
    const time = at => ((Math.min(Math.max(at, LABEL), W - PAD) - LABEL) / (W - PAD - LABEL)) * END;
    view.x0 = time(Math.min(gesture.x, x));
    view.x1 = time(Math.max(gesture.x, x));
    moved();
  } else if (gesture.part === 'scrollbar') {
    pan(0, ((y - last[1]) * others.length * rowHeight()) / Math.max(1, H - othersTop()));
  } else pan((last[0] - x) / (W - LABEL - PAD), last[1] - y);
});
function lift(e) {
  const [x, y] = pointOf(e),
    wasClick = gesture && !gesture.moved && fingers.size === 1 && e.type === 'pointerup';
  fingers.delete(e.pointerId);
  if (wasClick) click(x, y, e.pointerType === 'touch');
  if (!fingers.size) gesture = null;
}
canvas.addEventListener('pointerup', lift);
canvas.addEventListener('pointercancel', lift);
canvas.addEventListener('pointerleave', () => {
  hideTip();
  if (view.hover) {
    view.hover = null;
    redraw();
  }
});
canvas.addEventListener('dblclick', e => {
  const [x, y] = pointOf(e);
  if (x > LABEL && y > STRIP) zoom(0.4, timeAt(x));
});
canvas.addEventListener(
  'wheel',
  e => {
    e.preventDefault();
    const [x, y] = pointOf(e),
      amount = e.deltaMode === 1 ? e.deltaY * 24 : e.deltaY;
    if (e.ctrlKey || y < pinnedTop())
      zoom(Math.exp(Math.min(200, Math.max(-200, amount)) / 320), Math.max(view.x0, timeAt(x)));
    else if (!scrollbar() && !e.shiftKey && !e.deltaX)
      zoom(Math.exp(amount / 320), Math.max(view.x0, timeAt(x)));
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(amount)) pan((e.deltaX || amount) / 800, 0);
    else pan(0, amount);
  },
  { passive: false },
);
function click(x, y, touched) {
  const hit = under(x, y);
  if (!hit) return;
  if (hit.part === 'strip') {
    const time = ((x - LABEL) / (W - PAD - LABEL)) * END,
      width = view.x1 - view.x0;
    view.x0 = time - width / 2;
    view.x1 = time + width / 2;
    moved();
  } else if (hit.part === 'label') {
    $('search').value = `process:${lanes[hit.lane].name.split(/[ /]/)[0]}`;
    find($('search').value);
  } else if (hit.event !== undefined) select(hit.event, false);
  else select(-1, false);
  if (touched) hover(x, y);
}
function hover(x, y) {
  const hit = under(x, y),
    lane = hit ? hit.lane : undefined;
  canvas.style.cursor =
    hit && (hit.event !== undefined || hit.part === 'label' || hit.part === 'strip') ? 'pointer' : 'grab';
  if ((view.hover ? view.hover.lane : undefined) !== lane) {
    view.hover = lane === undefined ? null : { lane };
    redraw();
  }
  const tip = $('tip');
  tip.style.display = hit && hit.text ? 'block' : 'none';
  if (!hit || !hit.text) return;
  tip.textContent = hit.text;
  tip.style.left = `${Math.max(4, Math.min(x + 14, W - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > H ? Math.max(4, y - tip.offsetHeight - 10) : y + 18}px`;
}
function hideTip() {
  $('tip').style.display = 'none';
}

const splitter = $('splitter');
function widen(by) {
  const section = $('events'),
    box = section.getBoundingClientRect(),
    across = innerWidth > 900;
  if (across) section.style.width = `${Math.min(innerWidth * 0.7, Math.max(220, box.width + by))}px`;
  else section.style.height = `${Math.min(innerHeight * 0.6, Math.max(80, box.height + by))}px`;
  resize();
}
splitter.addEventListener('pointerdown', e => {
  if (e.isTrusted) splitter.setPointerCapture(e.pointerId);
  let [x, y] = [e.clientX, e.clientY];
  splitter.onpointermove = m => {
    widen(innerWidth > 900 ? x - m.clientX : y - m.clientY);
    [x, y] = [m.clientX, m.clientY];
  };
});
for (const name of ['pointerup', 'pointercancel'])
  splitter.addEventListener(name, () => (splitter.onpointermove = null));
splitter.addEventListener('keydown', e => {
  const by = { ArrowLeft: 20, ArrowUp: 20, ArrowRight: -20, ArrowDown: -20 }[e.key];
  if (by) {
    e.preventDefault();
    e.stopPropagation();
    widen(by);
  }
});
