// Walk: the cursor, what stands there, and the tab in which the run is seen at that moment.
const cursor = { run: 0, at: 0, choice: 0 };
const last = run => Math.max(0, knownOf(run) - 1);

function goTo(run, at = cursor.at) {
  cursor.run = run;
  cursor.at = Math.max(0, Math.min(at, last(run)));
  cursor.choice = choiceOf(run, cursor.at);
  render();
}
// Into a run: to the decision at which it departs.
const enter = run => goTo(run, run === 0 ? 0 : RUNS[run][2]);
const up = () => {
  const [, parent, point] = RUNS[cursor.run];
  if (cursor.run !== 0) goTo(parent, point);
};
function into() {
  const there = branchOf(cursor.run, cursor.at, cursor.choice);
  if (there === undefined) return;
  if (there === cursor.run) look();
  else goTo(there, cursor.at);
}
function choose(way) {
  const decision = decisionOf(cursor.run, cursor.at);
  if (!decision) return;
  cursor.choice = Math.max(0, Math.min(countOf(decision) - 1, cursor.choice + way));
  render();
}
// The next decision from which another run departs.
function leap(way) {
  for (let at = cursor.at + way; at >= 0 && at <= last(cursor.run); at += way) {
    const decision = decisionOf(cursor.run, at);
    if (decision && S[decision[5]].includes('r')) return goTo(cursor.run, at);
  }
}
const broken = RUNS.findIndex(run => run[5] === BROKE);

function showPath() {
  $('path').replaceChildren(
    ...chainOf(cursor.run).map((run, i) => {
      const item = element('li', run === cursor.run ? 'here' : ''),
        button = element('button', 'step', run === 0 ? 'the usual run' : `run ${number(numberOf(run))}`);
      button.onclick = () => enter(run);
      item.append(button);
      if (run !== 0) {
        const [, parent, point, choice] = RUNS[run],
          decision = decisionOf(parent, point);
        item.append(element('span', 'why', `${timeText(decision[0])}: ${subjectOf(decision)}: ${optionOf(decision, choice)}`,
          element('span', 'usual', ` in the place of: ${optionOf(decision, 0)}`)));
      } else item.append(element('span', 'why', 'nothing goes otherwise'));
      return item;
    }),
  );
  const [, , , , points, end, same, , , , from] = RUNS[cursor.run];
  const below = belowText(cursor.run);
  $('end').className = markOf(cursor.run);
  $('end').replaceChildren(element('b', '', `${cursor.run === 0 ? 'It' : `Run ${number(numberOf(cursor.run))}`} ${endText(cursor.run)}`),
    ...(end === BROKE ? [`: ${D.violation[1]}`] : ['.']), below ? ` ${sentence(below)}.` : '',
    end !== JOINED && from !== null ? ` From decision ${number(from + 1)} on it goes as run ${number(same)}, so nothing departs from it any more.` : '',
    isOpen(cursor.run) ? '' : ` Its ${number(points - knownOf(cursor.run))} decisions after its departure are as usual, and not on this page.`);
  const there = placeOf.get(same);
  if (from !== null && there !== undefined && there !== cursor.run) {
    const button = element('button', '', `to run ${number(same)}`);
    button.onclick = () => enter(there);
    $('end').append(' ', button);
  }
}
function choiceRow(decision, choice) {
  const taken = choiceOf(cursor.run, cursor.at),
    there = branchOf(cursor.run, cursor.at, choice),
    // Of a decision of an ancestor the alternatives are the ancestor's.
    branch = choice === 0 || there !== undefined ? 'r' : S[decision[5]][choice - 1];
  const row = element('div', `choice ${there === undefined ? `none ${branch}` : markOf(there)}`);
  row.setAttribute('role', 'option');
  row.setAttribute('aria-selected', String(choice === cursor.choice));
  row.dataset.choice = choice;
  row.append(element('i', 'mark'), element('span', 'option', optionOf(decision, choice)));
  if (choice === 0) row.append(element('span', 'tag', 'usual'));
  if (choice === taken) row.append(element('span', 'tag warn', 'so it goes here'));
  const text =
    there === undefined
      ? branch === 's' ? `${BRANCHES.s}: run ${number(RUNS[ownerOf(cursor.run, cursor.at)][6])}` : BRANCHES[branch]
      : there === cursor.run
        ? 'this run'
        : `${there === 0 ? 'the usual run' : `run ${number(numberOf(there))}`}: ${endText(there)}`;
  row.append(element('span', 'outcome', text));
  const below = there === undefined || there === cursor.run ? '' : belowText(there);
  if (below) row.append(element('span', 'below', below));
  return row;
}
function showChoices() {
  const decision = decisionOf(cursor.run, cursor.at);
  $('choices').replaceChildren(
    ...(decision
      ? Array.from({ length: countOf(decision) }, (_, choice) => choiceRow(decision, choice))
      : [element('div', 'idle', 'Nothing is decided in this run.')]),
  );
  const there = decision && branchOf(cursor.run, cursor.at, cursor.choice);
  $('into').disabled = there === undefined || there === cursor.run;
  $('up').disabled = cursor.run === 0;
}
const EVENT_HEIGHT = 24;
function showDecisions() {
  const known = knownOf(cursor.run),
    more = RUNS[cursor.run][4] - known,
    room = Math.max(8, Math.floor($('events').clientHeight / EVENT_HEIGHT) - 1),
    from = Math.max(0, Math.min(cursor.at - Math.ceil(room * 0.45), known + (more ? 1 : 0) - room));
  const rows = [];
  for (let at = from; at < Math.min(known, from + room); ++at) {
    const decision = decisionOf(cursor.run, at),
      choice = choiceOf(cursor.run, at);
    const row = element('div', `event${at > cursor.at ? ' later' : ''}${choice ? ' otherwise' : ''}`,
      element('span', 'time', (decision[0] / 1000).toFixed(1)), element('span', 'who', SIGN[decision[1]]),
      element('span', 'text', lineOf(decision, choice)), marks(at, decision));
    if (at === cursor.at) {
      row.classList.add('now');
      row.setAttribute('aria-selected', 'true');
    }
    row.title = `${timeText(decision[0])} ${subjectOf(decision)}: ${optionOf(decision, choice)}`;
    row.setAttribute('role', 'option');
    row.dataset.at = at;
    rows.push(row);
  }
  if (more && from + room > known) rows.push(element('div', 'event', element('span', 'time', ''), element('span', 'text', `and ${many(more, 'decision')} as usual, not on this page`)));
  $('events').replaceChildren(...rows);
}
// What departs at a decision, as squares.
function marks(at, decision) {
  const all = element('span', 'marks');
  const taken = choiceOf(cursor.run, at);
  let shown = 0;
  for (let choice = 0; choice < countOf(decision) && shown < 6; ++choice) {
    if (choice === taken) continue;
    const there = branchOf(cursor.run, at, choice);
    all.append(element('i', there === undefined ? `none ${S[decision[5]][choice - 1]}` : RUNS[there][8] && at >= firstOf(cursor.run) ? 'broke' : markOf(there)));
    ++shown;
  }
  return all;
}
let drawn = 0; // how often the page was
function render() {
  ++drawn;
  const decision = decisionOf(cursor.run, cursor.at),
    known = knownOf(cursor.run);
  $('slider').max = Math.max(0, known - 1);
  $('slider').value = cursor.at;
  $('clock').textContent = decision ? timeText(decision[0]) : '';
  $('moment').textContent = `decision ${number(cursor.at + 1)} of ${number(RUNS[cursor.run][4])}`;
  const taken = choiceOf(cursor.run, cursor.at);
  const text = decision ? `${subjectOf(decision)}: ${optionOf(decision, taken)}` : '';
  $('sign').textContent = decision ? SIGN[decision[1]] : '';
  $('happens').textContent = text + (taken ? `, in the place of: ${optionOf(decision, 0)}` : '');
  $('happens').title = $('happens').textContent;
  $('slider').setAttribute('aria-valuetext', text);
  $('alarm').textContent = RUNS[cursor.run][5] === BROKE ? `✖ this run ${endText(cursor.run)}` : '';
  showPath();
  showChoices();
  showDecisions();
  drawStrip(cursor.run, cursor.at, cursor.choice);
  strip.setAttribute('aria-label', `The runs on the way to ${cursor.run === 0 ? 'the usual run' : `run ${numberOf(cursor.run)}`}, over their decisions`);
}
function themed() {
  readColours();
  drawStrip(cursor.run, cursor.at, cursor.choice);
  const inside = $('frame').contentWindow;
  if (inside && inside.replay) inside.replay.setTheme(document.documentElement.dataset.theme);
}

// Until which decision two runs go alike.
function alikeUntil(a, b) {
  if (a === b) return Infinity;
  const of = run => chainOf(run).slice(1).map(one => [RUNS[one][2], RUNS[one][3]]);
  const [first, second] = [of(a), of(b)];
  for (let i = 0; ; ++i) {
    const [x, y] = [first[i], second[i]];
    if (x && y && x[0] === y[0] && x[1] === y[1]) continue;
    return Math.min(x ? x[0] : Infinity, y ? y[0] : Infinity);
  }
}
// The recorded run that goes like this one for longest; of those that go so until the cursor, this one or the first.
function recordedFor(run, at) {
  let best = null;
  for (const shown of D.shown) {
    const one = placeOf.get(shown);
    if (one === undefined) continue;
    const until = alikeUntil(run, one);
    if (!best || until > best.until || (until > at && one === run)) best = { run: one, until };
  }
  return best;
}
const frame = { run: -1 };
function look() {
  if (!D.shown.length) return;
  const best = recordedFor(cursor.run, cursor.at),
    at = Math.min(cursor.at, best.until),
    name = run => (run === 0 ? 'the usual run' : `run ${number(numberOf(run))}`);
  showTab('run');
  const more = `${D.reproduce} --show ${numberOf(cursor.run)}`;
  $('shown').replaceChildren(
    best.run === cursor.run
      ? `${sentence(name(cursor.run))}, before decision ${number(at + 1)}.`
      : best.until >= cursor.at
        ? `${sentence(name(cursor.run))} is not recorded. Until this decision it goes as ${name(best.run)}, which is shown, before decision ${number(at + 1)}. `
        : `${sentence(name(cursor.run))} is not recorded. Until decision ${number(at + 1)} it goes as ${name(best.run)}, which is shown there. `,
    ...(best.run === cursor.run ? [] : ['With this run: ', element('code', '', more)]),
  );
  const decision = decisionOf(cursor.run, at);
  const place = () => {
    const inside = $('frame').contentWindow;
    if (!inside.replay) return;
    inside.replay.setTheme(document.documentElement.dataset.theme);
    inside.replay.goTo(stepOf(inside.replay, decision));
  };
  if (frame.run === best.run) return place();
  frame.run = best.run;
  $('frame').onload = () => {
    place();
    $('frame').contentWindow.addEventListener('keydown', event => {
      if (event.key === 'Escape' || event.key === '1') showTab('tree');
    });
    $('frame').contentWindow.focus();
  };
  $('frame').srcdoc = JSON.parse($('page').textContent).split('/*DATA*/').join($(`run-${numberOf(best.run)}`).textContent);
}
// The step of a replay before that decision.
function stepOf(replay, decision) {
  if (!decision) return 0;
  const { steps, drawings, strings } = replay.data;
  const step = steps.findIndex(([, kind, at]) => kind === 4 && drawings[at][1] === decision[3] && strings[drawings[at][0]] === S[decision[2]]);
  return decision[1] !== PLACE && step >= 0 ? step - 1 : replay.stepAt(decision[0]);
}
function showTab(name) {
  for (const tab of ['tree', 'run']) {
    const on = tab === name;
    $(tab).hidden = !on;
    $(`${tab}-tab`).setAttribute('aria-selected', String(on));
    $(`${tab}-tab`).tabIndex = on ? 0 : -1;
  }
  if (name === 'tree') {
    $('choices').focus();
    render();
  }
}

const commands = {
  ArrowLeft: event => (event?.shiftKey ? leap(-1) : goTo(cursor.run, cursor.at - 1)),
  ArrowRight: event => (event?.shiftKey ? leap(1) : goTo(cursor.run, cursor.at + 1)),
  ArrowUp: () => choose(-1),
  ArrowDown: () => choose(1),
  Enter: into,
  Backspace: up,
  Home: () => goTo(cursor.run, 0),
  End: () => goTo(cursor.run, last(cursor.run)),
  v: () => broken >= 0 && enter(broken),
  1: () => showTab('tree'),
  2: look,
  t: toggleTheme,
  '?': () => toggleHelp(),
  Escape: () => ($('help').hidden ? showTab('tree') : toggleHelp(false)),
};
function connect() {
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const command = commands[event.key],
      target = event.target;
    if (!command) return;
    if ((event.key === 'Enter' || event.key === ' ') && target instanceof HTMLButtonElement) return;
    if (target.getAttribute?.('role') === 'tab' && event.key.startsWith('Arrow')) {
      const other = target.id === 'tree-tab' ? 'run-tab' : 'tree-tab';
      $(other).click();
      $(other).focus();
      return event.preventDefault();
    }
    event.preventDefault();
    command(event);
  });
  const moved = {
    first: commands.Home, back: commands.ArrowLeft, forward: commands.ArrowRight, last: commands.End, up, into,
    broken: commands.v, look, theme: toggleTheme, helped: () => toggleHelp(), 'tree-tab': commands[1], 'run-tab': look,
  };
  for (const [id, command] of Object.entries(moved)) $(id).onclick = command;
  $('slider').addEventListener('input', () => goTo(cursor.run, Number($('slider').value)));
  $('events').addEventListener('click', event => {
    const row = event.target.closest('[data-at]');
    if (row) goTo(cursor.run, Number(row.dataset.at));
  });
  $('choices').addEventListener('click', event => {
    const row = event.target.closest('[data-choice]');
    if (!row) return;
    const again = Number(row.dataset.choice) === cursor.choice;
    cursor.choice = Number(row.dataset.choice);
    if (again || event.detail > 1) into();
    else render();
  });
  strip.addEventListener('click', event => {
    const box = strip.getBoundingClientRect(),
      found = under(event.clientX - box.left, event.clientY - box.top, cursor.run);
    if (found.child !== undefined) return enter(found.child);
    goTo(found.owner, found.point);
    if (found.choice !== null) {
      cursor.choice = found.choice;
      render();
    }
  });
  addEventListener('resize', render);
}

function begin() {
  document.title = `explore: ${D.title}`;
  $('title').textContent = D.title;
  $('title').title = D.about;
  $('verdict').className = D.violation ? 'violated' : D.complete ? 'holds' : 'unknown';
  $('verdict').textContent = D.violation ? '✖ broken' : D.complete ? '✓ complete' : '? not complete';
  $('headline').textContent = D.violation
    ? sentence(`${D.violation[0].replaceAll('-', ' ')}: ${chainOf(broken).length === 2 ? 'one thing goes' : `${chainOf(broken).length - 1} things go`} otherwise`)
    : D.complete
      ? `No promise is broken in any run in which ${D.bound}`
      : 'No promise is broken so far';
  $('why').textContent = D.about;
  $('counts').textContent = `${D.lock}, ${many(D.explored, 'run')}, ${number(D.joined)} of them ended where another had been, ${many(D.states, 'state')}, ` +
    `${many(D.histories, 'history', 'histories')}`;
  const cuts = [];
  if (RUNS.length < D.explored) cuts.push(`${number(RUNS.length)} of ${many(D.explored, 'run')} are on this page: those on the way to the broken promise, then in the order of the search.`);
  if (D.opened < RUNS.length) cuts.push(`${many(D.opened, 'run')} have all their decisions here; of the others one sees where they depart, and how they end.`);
  $('cut').textContent = cuts.join(' ');
  $('cut').hidden = !cuts.length;
  $('places').hidden = true;
  $('checks').hidden = true;
  $('broken').hidden = broken < 0;
  $('look').hidden = !D.shown.length;
  $('tab-note').textContent = D.shown.length > 4 ? `${many(D.shown.length, 'run')} are recorded`
    : `recorded: ${D.shown.map(one => (one === 1 ? 'the usual run' : `run ${number(one)}`)).join(', ')}`;
  $('bound').replaceChildren(element('li', '', sentence(D.bound)), ...D.completeFor.map(line => element('li', '', line)));
  $('reproduce').textContent = D.reproduce;
  const sign = (className, text) => element('span', '', element('i', `mark ${className}`), text);
  $('legend').replaceChildren(
    sign('kept', 'another run: keeps all promises'), sign('joined', 'ended in a state that was seen'), sign('broke', 'breaks a promise, or one below it'),
    sign('none a', 'comes to the same: not run'), sign('none c', 'run, not on this page'), sign('none s', 'run from another one'), sign('none b', 'beyond the bound'),
  );
  connect();
  readColours();
  cursor.run = broken >= 0 ? broken : 0;
  cursor.at = broken > 0 ? RUNS[broken][2] : 0;
  cursor.choice = choiceOf(cursor.run, cursor.at);
  setTheme(systemDark.matches ? 'dark' : 'light');
  render();
}
// For tests: where the cursor is.
window.tree = {
  data: D,
  state: () => ({ run: numberOf(cursor.run), at: cursor.at, choice: cursor.choice, theme: document.documentElement.dataset.theme, drawn }),
  goTo: (number, at) => goTo(placeOf.get(number), at),
};
begin();
