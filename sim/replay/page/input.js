// Input: the cursor, and all that moves it.
const cursor = { step: -1, place: V.length ? 0 : -1, playing: null };

function goTo(step, follows = true) {
  cursor.step = settled(Math.max(FIRST, Math.min(step, COUNT - 1)));
  const time = timeOf(cursor.step);
  if (follows) follow(time);
  render();
}
let drawn = 0; // how often the page was
function render() {
  ++drawn;
  const step = cursor.step,
    time = timeOf(step),
    state = stateAt(step),
    at = upTo(stopList, step);
  $('slider').max = stopList.length;
  $('slider').value = at;
  $('slider').setAttribute('aria-valuetext', `${timeText(time)}: ${words(step)[1]}`);
  $('clock').textContent = timeText(time);
  $('moment').textContent = `${number(at)} of ${number(stopList.length)}`;
  showNow(step, time);
  showClients(state, step, time);
  showMessages(state, step, time);
  showServers(state, step, time);
  showDecisions(step, time);
  showEvents(step);
  drawStrip(time);
  strip.setAttribute('aria-label', `The run over time; the cursor is at ${timeText(time)}`);
  document.body.classList.toggle('alarmed', placesAt(step, time).length > 0);
}

// The next of `steps` in that direction; FIRST: before all of them.
function beside(steps, step, way) {
  let low = upTo(steps, step);
  if (way > 0) return steps[low] ?? step;
  while (low > 0 && settled(steps[low - 1]) >= step) --low; // it is where the cursor is
  return low > 0 ? steps[low - 1] : FIRST;
}
const walk = way => goTo(beside(stopList, cursor.step, way));
const leap = way => goTo(beside(toldSteps, cursor.step, way));

function stop() {
  if (cursor.playing !== null) clearTimeout(cursor.playing);
  cursor.playing = null;
  $('play').textContent = '▶▶';
  $('play').setAttribute('aria-label', 'Play');
  $('play').setAttribute('aria-pressed', 'false');
}
function play() {
  if (cursor.playing !== null) return stop();
  const turn = () => {
    const before = cursor.step;
    walk(1);
    if (cursor.step === before) return stop();
    cursor.playing = setTimeout(turn, Number($('speed').value));
  };
  $('play').textContent = '❚❚';
  $('play').setAttribute('aria-label', 'Stop');
  $('play').setAttribute('aria-pressed', 'true');
  cursor.playing = setTimeout(turn, 0);
}
function speed(by) {
  const select = $('speed');
  select.selectedIndex = Math.max(0, Math.min(select.options.length - 1, select.selectedIndex + by));
}

function goToPlace(at) {
  if (!V.length) return;
  stop();
  cursor.place = (at + V.length) % V.length;
  const place = V[cursor.place],
    [, , , why, time, from, to, , first] = place;
  $('why').textContent = why;
  $('headline').textContent = sentence(kindText(place));
  $('which').textContent = `${number(cursor.place + 1)} of ${number(V.length)}`;
  const begin = Math.min(first, from),
    span = Math.max(Math.min(to, time + (time - begin) * 2) - begin, 1000);
  show(begin - span * 0.25, Math.max(time, begin) + span * 0.6);
  goTo(placeStep(place), false);
}
function toggleStop(name) {
  stops[name] = !stops[name];
  if (name === 'routine' && stops.routine) stops.messages = true;
  for (const button of document.querySelectorAll('[data-stop]'))
    button.setAttribute('aria-pressed', String(stops[button.dataset.stop]));
  findStops();
  render();
}

function themed() {
  readColours();
  hatches.clear();
  if (lanes.length) drawStrip(timeOf(cursor.step));
}
const zoomed = by => {
  zoom(by, timeOf(cursor.step));
  render();
};
const commands = {
  ArrowLeft: event => (event?.shiftKey ? leap(-1) : walk(-1)),
  ArrowRight: event => (event?.shiftKey ? leap(1) : walk(1)),
  Home: () => goTo(FIRST),
  End: () => goTo(COUNT - 1),
  ' ': play,
  '[': () => speed(-1),
  ']': () => speed(1),
  n: () => goToPlace(cursor.place + 1),
  p: () => goToPlace(cursor.place - 1),
  '+': () => zoomed(0.5),
  '=': () => zoomed(0.5),
  '-': () => zoomed(2),
  0: () => {
    show(0, END * 1.02);
    render();
  },
  e: () => toggleStop('events'),
  r: () => toggleStop('records'),
  m: () => toggleStop('messages'),
  d: () => toggleStop('decisions'),
  t: toggleTheme,
  '?': () => toggleHelp(),
  Escape: () => toggleHelp(false),
};
function connect() {
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target,
      typing = target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type !== 'range');
    const pressing = event.key === ' ' && target instanceof HTMLButtonElement;
    const command = commands[event.key];
    if (!command || typing || pressing) return;
    event.preventDefault();
    if (!' []+=-0tn?p'.includes(event.key)) stop();
    command(event);
  });
  $('slider').addEventListener('input', () => {
    stop();
    const at = Number($('slider').value);
    goTo(at > 0 ? stopList[at - 1] : FIRST);
  });
  const moved = {
    first: commands.Home, back: commands.ArrowLeft, forward: commands.ArrowRight, last: commands.End,
  };
  for (const [id, command] of Object.entries(moved))
    $(id).onclick = event => {
      stop();
      command(event);
    };
  $('play').onclick = play;
  $('next').onclick = commands.n;
  $('previous').onclick = commands.p;
  $('in').onclick = commands['+'];
  $('out').onclick = commands['-'];
  $('fit').onclick = commands[0];
  $('theme').onclick = toggleTheme;
  $('helped').onclick = () => toggleHelp();
  for (const button of document.querySelectorAll('[data-stop]')) button.onclick = () => toggleStop(button.dataset.stop);
  for (const list of [$('events'), $('decisions')]) {
    const chosen = event => {
      const row = event.target.closest('[data-step]');
      if (row) {
        stop();
        goTo(Number(row.dataset.step));
      }
    };
    list.addEventListener('click', chosen);
    list.addEventListener('keydown', event => {
      if (event.key === 'Enter') chosen(event);
    });
  }
  const point = event => {
    const box = strip.getBoundingClientRect();
    stop();
    goTo(stepAt(timeAt(event.clientX - box.left)), false);
  };
  strip.addEventListener('pointerdown', event => {
    try {
      strip.setPointerCapture(event.pointerId);
    } catch {
      // a pointer that is not there any more
    }
    strip.dataset.held = '1';
    point(event);
  });
  strip.addEventListener('pointermove', event => {
    if (strip.dataset.held) point(event);
  });
  for (const name of ['pointerup', 'pointercancel']) strip.addEventListener(name, () => delete strip.dataset.held);
  strip.addEventListener(
    'wheel',
    event => {
      event.preventDefault();
      const box = strip.getBoundingClientRect(),
        span = view.x1 - view.x0;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = ((event.deltaX || event.deltaY) / view.width) * span;
        show(view.x0 + by, view.x1 + by);
      } else zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, timeAt(event.clientX - box.left));
      render();
    },
    { passive: false },
  );
  addEventListener('resize', () => {
    resizeStrip();
    render();
  });
}
