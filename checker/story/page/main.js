// Main: fills the page, connects its buttons, opens at the first violation.
function legend() {
  const signs = [
    [
      (c, x) => {
        c.strokeStyle = C.op;
        c.lineWidth = 2;
        c.setLineDash([2, 3]);
        c.beginPath();
        c.moveTo(0, 7);
        c.lineTo(x, 7);
        c.stroke();
      },
      'waits for the lock',
    ],
    [
      (c, x) => {
        c.fillStyle = V.length ? C.hold : C.a;
        c.fillRect(0, 2, x, 10);
      },
      'holds it',
    ],
    [
      (c, x) => {
        const colour = V.length ? C.hold : C.a;
        c.fillStyle = colour;
        c.globalAlpha = 0.22;
        c.fillRect(0, 2, x, 10);
        c.globalAlpha = 1;
        c.strokeStyle = colour;
        c.strokeRect(0.5, 2.5, x - 1, 9);
      },
      'believes that it holds; the lease is over',
    ],
    [
      (c, x) => {
        c.fillStyle = C.op;
        c.fillRect(0, 5, x, 3);
      },
      'another operation',
    ],
  ];
  if (V.length) {
    signs.splice(2, 0, [
      (c, x) => {
        c.fillStyle = C.a;
        c.fillRect(0, 2, x / 2 - 1, 10);
        c.fillStyle = C.b;
        c.fillRect(x / 2 + 1, 2, x / 2 - 1, 10);
      },
      'the owners in conflict',
    ]);
    signs.push([
      (c, x) => {
        c.fillStyle = hatch(C.bad);
        c.fillRect(0, 2, x, 10);
        c.strokeStyle = C.bad;
        c.strokeRect(0.5, 2.5, x - 1, 9);
      },
      'violation',
    ]);
  }
  if (D.holds.some(hold => hold[6]))
    signs.push([
      (c, x) => {
        c.fillStyle = C.record;
        c.fillRect(0, 2, x, 10);
      },
      'record at the server',
    ]);
  if (D.outages.length)
    signs.push([
      (c, x) => {
        c.fillStyle = hatch(C.down);
        c.fillRect(0, 2, x, 10);
      },
      'down or paused',
    ]);
  if (D.faults.length)
    signs.push([
      (c, x) => {
        c.fillStyle = C.fault;
        c.fillRect(0, 3, x, 8);
      },
      'fault',
    ]);
  $('legend').replaceChildren(
    ...signs.map(([paint, text]) => {
      const span = document.createElement('span'),
        sign = document.createElement('canvas'),
        ratio = devicePixelRatio || 1;
      sign.width = 26 * ratio;
      sign.height = 14 * ratio;
      sign.style.width = '26px';
      sign.style.height = '14px';
      sign.setAttribute('aria-hidden', 'true');
      const c = sign.getContext('2d');
      c.scale(ratio, ratio);
      paint(c, 26);
      span.append(sign, text);
      return span;
    }),
  );
}
function begin() {
  $('title').textContent = document.title = D.title;
  const clients = clientLanes.length;
  $('counts').textContent =
    `${many(clients, 'client thread')}${nodeLanes.length ? `, ${many(nodeLanes.length, 'node')}` : ''}, ` +
    `${many(COUNT, 'event')} in ${spanText(END)}`;
  const outcome = D.outcome,
    verdict = $('verdict');
  verdict.className = outcome;
  verdict.textContent = { violated: '✖ violated', holds: '✓ holds', unknown: '? unknown' }[outcome];
  $('headline').textContent = headline();
  $('checks').replaceChildren(
    ...D.checks.map(check => {
      const item = document.createElement('li'),
        sign = { violated: '✖', holds: '✓', unknown: '?' }[check.outcome];
      item.className = check.outcome;
      item.textContent =
        `${sign} ${check.name}` +
        (check.violations ? `: ${many(check.violations, 'violation')}` : '') +
        (check.shown < check.violations ? `, ${number(check.shown)} shown` : '');
      item.title = check.reason;
      return item;
    }),
  );
  $('violations').hidden = !V.length;
  $('back').hidden = !V.length;
  $('previous').disabled = $('next').disabled = V.length < 2;
  document.querySelector('[data-lanes=conflict]').disabled = document.querySelector(
    '[data-scope=violation]',
  ).disabled = !V.length;
  document.querySelector('[data-lanes=matches]').disabled = true;
  $('keybox').hidden = keys.length < 2;
  $('key').replaceChildren(
    ...['', ...keys].slice(0, 5000).map(key => {
      const option = document.createElement('option');
      option.value = key;
      option.textContent = key || `all ${number(keys.length)}`;
      return option;
    }),
  );
  $('key').onchange = () => {
    view.key = $('key').value;
    view.scroll = 0;
    changed();
  };
  for (const button of document.querySelectorAll('[data-lanes]'))
    button.onclick = () => showLanes(button.dataset.lanes);
  for (const button of document.querySelectorAll('[data-scope]'))
    button.onclick = () => showScope(button.dataset.scope);
  $('next').onclick = commands.n;
  $('previous').onclick = commands.p;
  $('back').onclick = commands.v;
  $('fit').onclick = fit;
  $('in').onclick = commands['+'];
  $('out').onclick = commands['-'];
  $('lower').onclick = commands['['];
  $('higher').onclick = commands[']'];
  $('listed').onclick = toggleList;
  $('theme').onclick = toggleTheme;
  $('helped').onclick = () => toggleHelp();
  addEventListener('resize', resize);
  systemDark.addEventListener('change', () => {
    if (!chosenTheme) setTheme(systemDark.matches ? 'dark' : 'light');
  });
  addEventListener('beforeprint', () => setTheme('light'));
  addEventListener('afterprint', () => setTheme(chosenTheme || (systemDark.matches ? 'dark' : 'light')));
  view.height = lanes.length > 100 ? 2 : lanes.length > 16 ? 3 : 4;
  if (innerWidth <= 700) document.body.classList.toggle('nolist', false);
  for (const lane of lanes) lane.foundTimes = new Float64Array();
  setTheme(systemDark.matches ? 'dark' : 'light');
  resize();
  if (V.length && lanes.length > 60) {
    view.lanes = 'active';
    press('lanes', 'active');
  }
  if (V.length) goTo(0);
  else changed();
}
// For tests: the state, how much was drawn, where a lane and a time lie on the screen.
window.timeline = {
  draw: () => {
    settle();
    draw();
    return drawn;
  },
  find,
  select,
  data: D,
  state: () => ({
    x0: view.x0,
    x1: view.x1,
    scroll: view.scroll,
    at: view.violation,
    selected: view.selected,
    drawn,
    pinned: pinned.map(i => lanes[i].name),
    others: others.length,
    listed: listed.length,
    theme: document.documentElement.dataset.theme,
    rowHeight: rowHeight(),
  }),
  point: (lane, time) => {
    const box = canvas.getBoundingClientRect();
    return [box.left + X(time), box.top + rowTop(lane) + heightOf(lane) * 0.6];
  },
};
begin();
