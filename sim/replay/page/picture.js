// Picture: a line for each run on the way to this one, from where it departs, decisions from left to right; below the
// line a square for each alternative.
const strip = $('strip');
const view = { width: 800, height: 100, left: 66, squares: [] };
const LANE = 40, TOP = 12, SQUARE = 6, MOST_SQUARES = 4;

let C = {}; // colours of the theme
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['bg', 'panel', 'ink', 'dim', 'line', 'grid', 'down', 'bad', 'ok', 'fault', 'a']) C[name] = style.getPropertyValue('--' + name).trim();
}
const lengthOf = chain => Math.max(1, ...chain.map(run => RUNS[run][4]));
const X = (point, length) => view.left + ((point + 0.5) / length) * (view.width - view.left - 10);

function resizeStrip(lanes) {
  const box = $('picture').getBoundingClientRect(),
    ratio = devicePixelRatio || 1;
  view.width = Math.max(box.width, 200);
  view.height = TOP + LANE * lanes + 6;
  strip.width = view.width * ratio;
  strip.height = view.height * ratio;
  strip.style.width = `${view.width}px`;
  strip.style.height = `${view.height}px`;
  strip.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
}
function square(c, x, y, size, branch, child, chosen) {
  const broke = child !== undefined && (RUNS[child][5] === BROKE || RUNS[child][8] > 0);
  c.fillStyle = c.strokeStyle =
    branch === 'r' ? (broke ? C.bad : RUNS[child][5] === JOINED ? C.dim : C.ok) : branch === 'c' ? C.a : branch === 's' ? C.dim : C.down;
  c.lineWidth = 1;
  if (branch === 'r') {
    const small = RUNS[child][5] === JOINED ? 1 : 0;
    c.fillRect(x - size / 2 + small, y + small, size - 2 * small, size - 2 * small);
  } else if (branch === 'a') {
    c.beginPath();
    c.moveTo(x - size / 2, y + size / 2);
    c.lineTo(x + size / 2, y + size / 2);
    c.stroke();
  } else if (branch === 'c' || branch === 's') c.strokeRect(x - size / 2 + 0.5, y + 0.5, size - 1, size - 1);
  else c.fillRect(x - 1, y + size / 2 - 1, 2, 2);
  if (chosen) {
    c.strokeStyle = C.a;
    c.lineWidth = 1.5;
    c.strokeRect(x - size / 2 - 2, y - 2, size + 4, size + 4);
  }
}
function drawStrip(run, at, chosen) {
  const chain = chainOf(run),
    length = lengthOf(chain);
  resizeStrip(chain.length);
  const c = strip.getContext('2d');
  c.clearRect(0, 0, view.width, view.height);
  c.font = '11px system-ui, sans-serif';
  c.textBaseline = 'middle';
  view.squares = [];
  const size = Math.max(3, Math.min(SQUARE, (view.width - view.left - 10) / length - 2));
  chain.forEach((one, lane) => {
    const y = TOP + lane * LANE + 6,
      next = chain[lane + 1],
      from = one === 0 ? 0 : RUNS[one][2],
      until = RUNS[one][4] - 1,
      left = next === undefined ? until : RUNS[next][2];
    const line = (a, b, colour, width, dash = []) => {
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.setLineDash(dash);
      c.beginPath();
      c.moveTo(X(a, length), y);
      c.lineTo(X(b, length), y);
      c.stroke();
      c.setLineDash([]);
    };
    if (next !== undefined) {
      line(left, Math.max(until, left), C.line, 2);
      c.strokeStyle = C.a;
      c.lineWidth = 2;
      c.beginPath(); // down to the run that departs
      const x = X(left, length);
      c.moveTo(x, y);
      c.bezierCurveTo(x, y + LANE * 0.7, x, y + LANE * 0.4, x, y + LANE);
      c.stroke();
    }
    line(from, left, C.a, 3, isOpen(one) ? [] : [4, 3]);
    if (next === undefined) { // how it ends
      const x = X(Math.max(until, from), length);
      c.fillStyle = [C.ok, C.dim, C.bad][RUNS[one][5]];
      c.beginPath();
      c.arc(x, y, 4.5, 0, 7);
      c.fill();
    }
    for (let point = firstOf(one); isOpen(one) && point < RUNS[one][4]; ++point) {
      const decision = decisionOf(one, point),
        branches = S[decision[5]];
      // Of many those that were run first.
      let shown = [...branches].map((branch, i) => [branch, i + 1]);
      if (shown.length > MOST_SQUARES) shown = shown.sort((a, b) => 'rcsabe'.indexOf(a[0]) - 'rcabe'.indexOf(b[0])).slice(0, MOST_SQUARES);
      shown.forEach(([branch, choice], row) => {
        const child = childOf(one, point, choice),
          x = X(point, length),
          top = y + 6 + row * (SQUARE + 1.5);
        if (child === next && next !== undefined) return; // the line itself
        square(c, x, top, size, branch, child, one === ownerOf(run, at) && point === at && choice === chosen && chosen !== choiceOf(run, at));
        view.squares.push([x, top + size / 2, child, one, point, choice]);
      });
    }
    c.fillStyle = next === undefined ? C.ink : C.dim;
    c.textAlign = 'right';
    c.fillText(one === 0 ? 'usual run' : `run ${number(numberOf(one))}`, view.left - 8, y);
  });
  const x = X(at, length);
  c.strokeStyle = C.a;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x, 2);
  c.lineTo(x, view.height);
  c.stroke();
  c.fillStyle = C.a;
  c.beginPath();
  c.arc(x, 4, 4, 0, 7);
  c.fill();
}
// What is there: [run, point, choice], the alternative if a square is near.
function under(x, y, run) {
  const chain = chainOf(run),
    length = lengthOf(chain);
  let near = null,
    least = 81;
  for (const [sx, sy, child, owner, point, choice] of view.squares) {
    const away = (sx - x) ** 2 + (sy - y) ** 2;
    if (away < least) [near, least] = [{ owner, point, choice, child }, away];
  }
  if (near) return near;
  const lane = Math.max(0, Math.min(chain.length - 1, Math.floor((y - TOP) / LANE))),
    point = Math.floor(((x - view.left) / (view.width - view.left - 10)) * length);
  return { owner: chain[lane], point: Math.max(0, point), choice: null, child: undefined };
}
