// Main: fills the page, connects its buttons, opens at the first violation.
function begin() {
  document.body.classList.toggle('inside', parent !== window); // the page around it says what this is
  document.title = `replay: ${D.title}, seed ${D.seed}`;
  $('title').textContent = `${D.title}, seed ${D.seed}`;
  $('title').title = D.about;
  const kept = D.servers.length - D.sentinels;
  $('counts').textContent =
    `${D.lock}, ${many(D.threads.length, 'client')}, ${many(kept, 'server')}` +
    `${D.sentinels ? ` and ${many(D.sentinels, 'Sentinel')}` : ''}, ${many(D.messages.length, 'message')}, ` +
    `${many(D.drawings.length, 'decision')} in ${spanText(END)}`;
  const violated = D.verdicts.some(([, outcome]) => outcome === 'violated'),
    outcome = violated ? 'violated' : D.verdicts.some(([, one]) => one === 'unknown') || !D.verdicts.length ? 'unknown' : 'holds';
  $('verdict').className = outcome;
  $('verdict').textContent = { violated: '✖ violated', holds: '✓ holds', unknown: '? unknown' }[outcome];
  const missed = D.verdicts.find(([, one]) => one === 'violated');
  $('headline').textContent = missed ? sentence(missed[2] || missed[0]) : 'Nothing is violated';
  $('why').textContent = D.about;
  $('checks').replaceChildren(
    ...D.verdicts.map(([check, one, reason]) => {
      const item = element('li', one, `${{ violated: '✖', holds: '✓', unknown: '?' }[one]} ${check}`);
      item.title = reason;
      return item;
    }),
  );
  $('places').hidden = !V.length;
  $('previous').disabled = $('next').disabled = V.length < 2;
  const cuts = [];
  if (D.cut !== null) cuts.push(`The run has more steps than a page takes: it is recorded until ${timeText(D.cut)}.`);
  if (D.keysLeftOut) cuts.push(`A server has more keys than a page takes: ${many(D.keysLeftOut, 'change')} of others are left out.`);
  $('cut').textContent = cuts.join(' ');
  $('cut').hidden = !cuts.length;
  $('reproduce').textContent = D.reproduce;
  const sign = (className, text) => element('span', '', element('i', `sign ${className}`), text);
  $('legend').replaceChildren(
    sign('asks', 'asks, waits'), sign('holds', 'holds'), sign('over', 'believes that it holds; the lease is over'),
    sign('has', 'a record of its owner at a server'), sign('down', 'down'), sign('pause', 'stands still'),
    sign('fault', 'fault acts'), sign('conflict', 'violation'),
  );
  findStops();
  connect();
  stop();
  setTheme(systemDark.matches ? 'dark' : 'light');
  resizeStrip();
  if (V.length) goToPlace(0);
  else {
    show(0, END * 1.02);
    goTo(stopList[0] ?? FIRST, false);
  }
}
// For tests: the state, and what stands at the cursor.
window.replay = {
  data: D,
  state: () => ({
    step: cursor.step,
    time: timeOf(cursor.step),
    stops: stopList.length,
    playing: cursor.playing !== null,
    place: cursor.place,
    theme: document.documentElement.dataset.theme,
    x0: view.x0,
    x1: view.x1,
    drawn,
  }),
  goTo,
  stepAt,
  setTheme,
  standing: () => stateAt(cursor.step),
};
begin();
