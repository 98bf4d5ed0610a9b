// Picture: lanes over time, drawn anew for each change of the view; only what is in view is drawn.
function draw() {
  drawn = 0;
  const edge = W - PAD,
    bottom = Math.min(H, othersTop() + others.length * rowHeight() - view.scroll);
  g.fillStyle = C.bg;
  g.fillRect(0, 0, W, H);
  g.textBaseline = 'middle';
  g.textAlign = 'left';
  drawGrid(edge);
  clipped(LABEL, othersTop(), W - LABEL, H - othersTop(), () => drawLanes(others, edge));
  clipped(0, othersTop(), LABEL, H - othersTop(), () => drawLabels(others));
  clipped(LABEL, pinnedTop() - 2, W - LABEL, othersTop() - pinnedTop(), () => drawLanes(pinned, edge));
  clipped(0, pinnedTop() - 2, LABEL, othersTop() - pinnedTop(), () => drawLabels(pinned));
  if (pinned.length && others.length) {
    g.fillStyle = C.line;
    g.fillRect(0, othersTop() - 4, W, 2);
  }
  clipped(LABEL, 0, edge - LABEL, H, () => drawConflict(bottom));
  clipped(LABEL, 0, edge - LABEL, H, () => drawMoment(bottom));
  drawFaults(edge);
  drawAxis(edge);
  drawStrip(edge);
  drawScrollbar();
}
function clipped(x, y, w, h, f) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, Math.max(h, 0));
  g.clip();
  f();
  g.restore();
}
function visible(list) {
  if (list === pinned || !list.length) return [0, list.length];
  const first = Math.max(0, Math.floor(view.scroll / rowHeight()));
  return [first, Math.min(list.length, first + Math.ceil((H - othersTop()) / rowHeight()) + 1)];
}

function drawLanes(list, edge) {
  const [first, last] = visible(list),
    violation = V[view.violation];
  for (let row = first; row < last; ++row) {
    const lane = list[row],
      y = rowTop(lane),
      h = heightOf(lane);
    if (owners.has(lane)) {
      g.fillStyle = C.badbg;
      g.fillRect(0, y, W, h - 1);
    }
    if (view.hover && view.hover.lane === lane) {
      g.fillStyle = C.select;
      g.globalAlpha = 0.6;
      g.fillRect(0, y, W, h);
      g.globalAlpha = 1;
    }
    if (h > 8) {
      g.fillStyle = C.grid;
      g.fillRect(0, y + h - 1, W, 1);
    }
    drawOutages(lane, y, h, edge);
    drawOperations(lane, y, h, edge);
    drawOutageNames(lane, y, h, edge, drawHolds(lane, y, h, edge, violation));
    drawFound(lane, y, h);
  }
}
function drawOutages(lane, y, h, edge) {
  eachInView(lanes[lane].outages, view.x0, view.x1, pixel(), (i, begin, end) => {
    const a = Math.max(X(begin), LABEL),
      b = Math.min(X(end), edge);
    box(a, y + 1, b - a, h - 3, hatch(C.down));
  });
}
// What keeps the process from running, where no name of a lock stands.
function drawOutageNames(lane, y, h, edge, taken) {
  if (h < 20) return;
  eachInView(lanes[lane].outages, view.x0, view.x1, pixel(), (i, begin, end) => {
    const a = Math.max(X(begin), LABEL),
      b = Math.min(X(end), edge),
      text = D.outages[i][3];
    font(11);
    const left = a + 6,
      right = left + g.measureText(text).width + 12;
    if (right > b || taken.some(([from, to]) => from < right && to > left)) return;
    taken.push([left, right]);
    g.fillStyle = C.bg;
    g.fillRect(left, y + h / 2 - 8, right - left, 16);
    g.fillStyle = C.dim;
    g.fillText(text, left + 6, y + h / 2);
  });
}
function drawOperations(lane, y, h, edge) {
  const tall = h >= 20;
  eachInView(lanes[lane].operations, view.x0, view.x1, pixel(), (i, begin, end) => {
    const a = Math.max(X(begin), LABEL),
      b = Math.min(X(end), edge),
      outcome = outcomeOf(i);
    const colour = outcome === FAIL ? C.fail : C.op;
    if (D.functions[E.f[i]] === 'acquire' && h >= 8) {
      // waits: a dotted line up to the hold
      g.strokeStyle = colour;
      g.lineWidth = tall ? 2 : 1;
      g.setLineDash([2, 3]);
      g.beginPath();
      const middle = y + (tall ? h * 0.58 : h / 2);
      g.moveTo(a, middle);
      g.lineTo(Math.max(b, a + 2), middle);
      g.stroke();
      g.setLineDash([]);
      ++drawn;
      return;
    }
    if (!tall) {
      box(a, y + h / 2, b - a, 1, colour);
      return;
    }
    box(a, y + 4, Math.max(b - a, 2), 3, outcome === INFO ? hatch(colour) : colour);
  });
}
// Returns where it wrote: [from, to] in pixels.
function drawHolds(lane, y, h, edge, violation) {
  const top = y + (h >= 20 ? 10 : h >= 8 ? 1.5 : 0.5),
    height = h >= 20 ? h - 15 : Math.max(h - 3, 2);
  const taken = [];
  eachInView(lanes[lane].holds, view.x0, view.x1, pixel(), (i, begin, end) => {
    const [, , , claim, key, , record, , id] = D.holds[i],
      owner = ownerHolds.get(i);
    if (record && violation && S[key] !== violation.key) {
      // of other keys: that there is something
      g.globalAlpha = 0.4;
      box(X(begin), y + h - 4, X(end) - X(begin), 2, C.record);
      g.globalAlpha = 1;
      return;
    }
    const colour = record ? C.record : owner !== undefined ? ownerColour(owner) : violation ? C.hold : C.a;
    const a = Math.max(X(begin), LABEL - 4),
      b = Math.min(X(end), edge + 4);
    // Beside a violation, holds of other keys step back.
    const faint = violation && violation.key && S[key] !== violation.key ? 0.45 : 1;
    g.globalAlpha = faint;
    const promised = claim < 0 ? end : Math.max(begin, Math.min(claim, end)),
      c = Math.max(a, Math.min(X(promised), b));
    if (c > a || claim < 0) box(a, top, c - a, height, colour, 3);
    if (c < b) {
      // it goes on as if it held, but nothing is promised any more
      g.globalAlpha = 0.22 * faint;
      box(c, top, b - c, height, colour);
      g.globalAlpha = faint;
      if (b - c > 3 && height > 5) {
        g.strokeStyle = colour;
        g.lineWidth = 1;
        g.strokeRect(c + 0.5, top + 0.5, b - c - 1, height - 1);
      }
    }
    if (claim > end && h >= 20) {
      // the lease would have lasted on
      const d = Math.min(X(claim), edge);
      if (d > b + 2) {
        g.globalAlpha = 0.45 * faint;
        box(b + 1, top + height - 2, d - b - 1, 2, colour);
      }
    }
    g.globalAlpha = 1;
    if (height < 11 || b - a < 40 || (taken.length && a < taken.at(-1)[1])) return;
    font(11);
    const left = Math.max(a, LABEL),
      solid = c - left > 40 || c === b;
    const text = fitted(
      record ? S[id] : S[id] && b - a > 150 ? `${S[key]}  ${S[id]}` : S[key],
      (solid ? c : b) - left - 12,
    );
    if (text.length < 3) return;
    g.fillStyle = solid && colour !== C.hold ? C.text : C.ink;
    g.fillText(text, Math.max(a, LABEL) + 6, top + height / 2 + 0.5);
    taken.push([Math.max(a, LABEL), b]);
  });
  return taken;
}
function drawFound(lane, y, h) {
  const found = lanes[lane].found;
  if (!found.length) return;
  const size = h >= 20 ? 4 : 2;
  let used = -Infinity;
  for (let k = lowerBound(lanes[lane].foundTimes, view.x0); k < found.length; ++k) {
    const x = X(E.time[found[k]]);
    if (x > W) break;
    if (x - used < 2) continue;
    used = x;
    box(x - 1, y, 3, h - 1, C.match);
    if (h >= 20) {
      g.fillStyle = C.ink;
      g.fillRect(x, y + h - size - 1, 1, size);
    }
  }
}

// The shown violation: a red stretch over the lanes that stay, hatched boxes on the lanes in conflict.
function drawConflict(bottom) {
  V.forEach((v, n) => {
    // the others: a red line on their lanes
    if (n === view.violation || n > 2000 || X(until(v.to)) < LABEL || X(v.from) > W) return;
    for (const lane of v.lanes) {
      const y = rowTop(lane);
      if (y === undefined || y > H || (y + heightOf(lane) < othersTop() && !isPinned(lane))) continue;
      box(X(v.from), y + heightOf(lane) - 3, Math.max(X(until(v.to)) - X(v.from), 3), 2, C.bad);
    }
  });
  const v = V[view.violation];
  if (!v) return;
  const a = X(v.from),
    b = Math.max(X(until(v.to)), a + 2),
    top = pinnedTop() - 3;
  if (b < LABEL || a > W) return;
  g.fillStyle = C.bad;
  g.globalAlpha = 0.07;
  g.fillRect(a, top, b - a, bottom - top);
  g.globalAlpha = 0.75;
  for (const x of [a, b]) for (let y = top; y < bottom; y += 7) g.fillRect(x - 0.5, y, 1, 4);
  g.globalAlpha = 1;
  const nothing = v.to === v.from;
  for (const lane of v.lanes) {
    const y = rowTop(lane);
    if (y === undefined || lanes[lane].node) continue;
    const h = heightOf(lane);
    if (y + h < othersTop() && !isPinned(lane)) continue;
    if (nothing) {
      diamond(a, y + h / 2, Math.min(7, h / 2), C.bad);
      continue;
    }
    const boxTop = y + (h >= 20 ? h - 8 : h - 3),
      height = h >= 20 ? 6 : 2;
    g.fillStyle = C.bg;
    g.fillRect(a, boxTop, b - a, height);
    box(a, boxTop, b - a, height, h >= 20 ? hatch(C.bad) : C.bad);
    g.strokeStyle = C.bad;
    g.lineWidth = 1.5;
    if (h >= 20) g.strokeRect(a, boxTop, b - a, height);
  }
}
function diamond(x, y, size, colour) {
  ++drawn;
  g.fillStyle = colour;
  g.beginPath();
  g.moveTo(x, y - size);
  g.lineTo(x + size, y);
  g.lineTo(x, y + size);
  g.lineTo(x - size, y);
  g.fill();
}
// The selected event: a line through everything, a ring on its lane.
function drawMoment(bottom) {
  if (view.selected < 0) return;
  const x = X(E.time[view.selected]),
    lane = E.lane[view.selected];
  if (x < LABEL - 1 || x > W) return;
  g.fillStyle = C.ink;
  g.globalAlpha = 0.55;
  g.fillRect(x - 0.5, faultsTop(), 1, bottom - faultsTop());
  g.globalAlpha = 1;
  const y = lane >= 0 ? rowTop(lane) : undefined;
  if (y === undefined || (!isPinned(lane) && y < othersTop() - heightOf(lane) / 2)) return;
  g.beginPath();
  g.arc(x, y + heightOf(lane) / 2, 5, 0, 7);
  g.fillStyle = C.bg;
  g.fill();
  g.lineWidth = 2.5;
  g.strokeStyle = C.ink;
  g.stroke();
}

function drawLabels(list) {
  const [first, last] = visible(list),
    h = list === pinned ? BIG : rowHeight();
  const every = Math.max(1, Math.ceil(13 / h)); // low rows: a name every few of them
  for (let row = first; row < last; ++row) {
    const lane = list[row],
      y = rowTop(lane),
      owner = owners.get(lane);
    if (owner !== undefined) {
      g.fillStyle = C.badbg;
      g.fillRect(0, y, LABEL, h - 1);
    }
    if (row % every && owner === undefined) continue;
    const middle = y + (h * Math.min(every, 1)) / 2 + (every > 1 ? 3 : 0),
      strong = owner !== undefined;
    let x = 16;
    if (strong && h >= 13) {
      g.fillStyle = ownerColour(owner);
      g.beginPath();
      g.arc(x + 6, middle, Math.min(9, h / 2), 0, 7);
      g.fill();
      font(11, 'bold');
      g.fillStyle = C.text;
      g.textAlign = 'center';
      g.fillText(LETTERS[owner] || '+', x + 6, middle + 0.5);
      g.textAlign = 'left';
      x += 21;
    } else if (lanes[lane].node && h >= 13) {
      g.fillStyle = C.record;
      g.fillRect(x + 1, middle - 5, 10, 4);
      g.fillRect(x + 1, middle + 1, 10, 4);
      x += 21;
    }
    font(h >= 20 ? 12 : 10, strong ? 'bold' : '');
    g.fillStyle = strong ? ownerColour(owner) : lanes[lane].node ? C.ink : h >= 20 ? C.ink : C.dim;
    g.fillText(fitted(lanes[lane].name, LABEL - x - 8), x, middle + 0.5);
  }
}
function drawFaults(edge) {
  g.fillStyle = C.bg;
  g.fillRect(0, faultsTop(), W, pinnedTop() - faultsTop() - 3);
  faultRows.forEach((row, n) => {
    const y = faultsTop() + n * FAULT + 5,
      middle = y + FAULT / 2;
    font(11);
    g.fillStyle = C.faultink;
    const name = fitted(row.name, LABEL - 26);
    g.fillText(name, 16, middle);
    const used = 16 + g.measureText(name).width + 8;
    if (row.kind !== row.name && LABEL - used > 40) {
      g.fillStyle = C.dim;
      g.fillText(fitted(row.kind, LABEL - used - 8), used, middle);
    }
    g.fillStyle = C.grid;
    g.fillRect(LABEL, middle, edge - LABEL, 1);
    let last = -Infinity;
    clipped(LABEL, 0, edge - LABEL, H, () =>
      eachInView(row.acts, view.x0, view.x1, pixel(), (act, begin, end) => {
        const a = X(begin),
          b = X(end);
        if (b - a >= 4) {
          box(a, y + 4, b - a, FAULT - 8, C.fault, 2);
          last = b;
          return;
        }
        if (a - last < 6) return;
        diamond(a, middle, 5.5, C.fault);
        last = a;
      }),
    );
  });
}
