// View: the cards of a moment: clients, messages, servers, what is decided next, what happened.
function chip(text, client, title) {
  const made = element('span', 'chip', text);
  made.style.setProperty('--of', colourOf(client));
  if (title) made.title = title;
  return made;
}
// What is left of a span of time, as a bar. `whole`: µs.
function leftBar(left, whole, client) {
  const bar = element('span', 'bar'),
    inner = element('i');
  inner.style.width = `${Math.max(0, Math.min(100, (left / whole) * 100))}%`;
  inner.style.background = client === undefined ? 'var(--a)' : colourOf(client);
  bar.append(inner);
  bar.setAttribute('aria-hidden', 'true');
  return bar;
}

// The longest lease of the run: what is left is shown as a part of it.
const LEASE = (() => {
  let longest = 0;
  for (const [time, kind, at] of STEPS) {
    if (kind !== BELIEF) continue;
    for (const [, , state, , until] of D.beliefs[at][3])
      if (state === 2 && until !== null) longest = Math.max(longest, until - time);
  }
  return longest || 1e6;
})();

// Where a violation is there: the grant that makes the second owner, and what it lets its client believe. Of
// other violations: the last step of their moment.
function placeStep([, , , , time, , , threads]) {
  const last = stepAt(time);
  for (let step = last; step >= 0 && STEPS[step][0] === time; --step) {
    const [, kind, at] = STEPS[step];
    if (kind !== BELIEF || !threads.includes(D.beliefs[at][0]) || STEPS[step - 1]?.[1] !== TOLD) continue;
    if (S[D.told[STEPS[step - 1][2]][2]].startsWith('is granted')) return settled(step);
  }
  return last;
}
const beginnings = V.map(place => (place[5] === place[4] ? placeStep(place) : stepAt(place[5])));
function placesAt(step, time) {
  return V.filter((place, i) => beginnings[i] <= step && time < Math.max(place[6], place[5] + 1));
}

function claimView(thread, claim, time) {
  const [key, id, state, since, until, token, mode, note] = claim,
    client = clientOf(D.threads[thread]),
    name = STATES[state];
  const over = state === 2 && until !== null && until <= time;
  const title = {
    asking: 'asks for',
    queued: 'waits for',
    holding: over ? 'believes that it holds' : 'holds',
    releasing: 'gives back',
    lost: 'was told: lost',
    unsure: 'does not know of',
  }[name];
  const row = element('div', `claim ${name}${over ? ' over' : ''}`);
  row.append(element('div', 'what', title, ' ', element('b', '', S[key] || 'the lock'), S[mode] ? ` (${S[mode]})` : ''));
  if (state === 2 && until !== null) {
    const left = until - time;
    row.append(
      leftBar(left, LEASE, client),
      element('div', 'time', over ? `lease over since ${spanText(-left)}` : `until ${timeText(until)}, ${spanText(left)} left`),
    );
  } else row.append(element('div', 'time', `for ${spanText(time - since)}`));
  const more = [S[id] && `as ${S[id]}`, S[token] && `token ${S[token]}`, S[note]].filter(text => text).join(', ');
  if (more) row.append(element('div', 'note', more));
  return row;
}
function clientCard(thread, state, time, alarmed) {
  const name = D.threads[thread],
    client = clientOf(name),
    row = state.beliefs[thread],
    [, dead, doing, claims] = row < 0 ? [thread, 0, 0, []] : D.beliefs[row];
  const paused = state.pauses.has(client),
    watchdog = state.pauses.has(`${client}/watchdog`);
  const card = element('article', `card client${dead ? ' dead' : ''}${paused ? ' paused' : ''}${alarmed ? ' alarmed' : ''}`);
  card.style.setProperty('--of', colourOf(client));
  const head = element('h3', '', element('i', 'dot'), name);
  if (dead) head.append(element('span', 'role bad', 'dead'));
  else if (paused) head.append(element('span', 'role warn', 'stands still'));
  else if (watchdog) head.append(element('span', 'role warn', 'watchdog stands still'));
  if (alarmed) head.append(element('span', 'role bad', `✖ ${alarmed}`));
  card.append(head);
  if (!claims.length) card.append(element('div', 'idle', dead ? 'believes nothing any more' : 'holds nothing, asks for nothing'));
  for (const claim of claims) card.append(claimView(thread, claim, time));
  if (S[doing]) card.append(element('div', 'doing', S[doing]));
  return card;
}
// All clients, or of many the owners first, then who was told something, then who waits.
const MOST_CLIENTS = 24;
function busiest(state, alarmed) {
  const all = D.threads.map((name, thread) => thread);
  if (all.length <= MOST_CLIENTS) return all;
  const weight = thread => {
    if (alarmed.has(thread)) return 9;
    const row = state.beliefs[thread];
    if (row < 0) return 0;
    const [, dead, doing, claims] = D.beliefs[row];
    const most = Math.max(0, ...claims.map(claim => [2, 3, 8, 7, 6, 6][claim[2]]));
    return Math.max(most, dead ? 4 : 0, S[doing] ? 5 : 0, state.pauses.has(clientOf(D.threads[thread])) ? 5 : 0);
  };
  const weights = all.map(weight);
  return all.sort((a, b) => weights[b] - weights[a] || a - b).slice(0, MOST_CLIENTS).sort((a, b) => a - b);
}
function showClients(state, step, time) {
  const alarmed = new Map();
  for (const place of placesAt(step, time)) {
    if (place[7].length < 2) continue;
    place[7].forEach((thread, i) => alarmed.set(thread, `owner ${i + 1} of ${place[7].length}`));
  }
  const shown = busiest(state, alarmed),
    cards = shown.map(thread => clientCard(thread, state, time, alarmed.get(thread)));
  if (shown.length < D.threads.length)
    cards.push(element('div', 'idle', `and ${number(D.threads.length - shown.length)} others, who wait or do nothing`));
  $('clients').replaceChildren(...cards);
}

function messageRow(at, time, fresh) {
  const [from, to, way, replication, , text, bytes, meant, delay, fate, routine] = D.messages[at];
  const gone = wentAt[at] <= time && fresh;
  const client = replication ? '' : S[from];
  const row = element('div', `message${gone ? ' gone' : ''}${fresh ? ' fresh' : ''}${routine ? ' routine' : ''}`);
  row.style.setProperty('--of', client ? colourOf(client) : 'var(--ink)');
  const ends = way === 0 ? [S[from], S[to]] : [S[to], S[from]];
  const track = element('span', 'track', element('i'));
  const all = meant === 1 || wentAt[at] === Infinity ? Math.max(delay, END / 50) : wentAt[at] - cameAt[at];
  const part = gone ? 1 : meant === 1 ? 0.5 : all > 0 ? Math.min(1, (time - cameAt[at]) / all) : 0;
  track.style.setProperty('--part', part);
  track.classList.toggle('stuck', meant === 1 && !gone);
  row.append(
    element('span', 'link', element('b', '', ends[0]), track, element('b', '', ends[1])),
    element('code', '', S[text] || `${bytes} bytes`),
  );
  if (replication) row.append(element('span', 'tag', 'replication'));
  const tag = gone ? FATES[fate] || '' : MEANT[meant];
  if (tag) row.append(element('span', `tag ${tag === 'delivered' ? 'good' : meant === 1 && !gone ? 'warn' : 'bad'}`, tag));
  else if (!gone) row.append(element('span', 'time', `${spanText(time - cameAt[at])} of ${spanText(all)}`));
  row.title = `${way === 0 ? 'request' : 'reply'}, ${bytes} bytes`;
  return row;
}
const MOST_MESSAGES = 14;
function showMessages(state, step, time) {
  const [, kind, row] = step < 0 ? [0, -1, 0] : STEPS[step];
  const shown = [...state.flying].filter(at => stops.routine || !D.messages[at][10]);
  const fresh = kind === CAME || kind === WENT ? row : -1;
  if (kind === WENT && (stops.routine || !D.messages[row][10])) shown.push(row);
  shown.sort((a, b) => cameAt[a] - cameAt[b] || a - b);
  const rows = shown.slice(-MOST_MESSAGES).map(at => messageRow(at, time, at === fresh));
  if (shown.length > MOST_MESSAGES) rows.unshift(element('div', 'idle', `and ${shown.length - MOST_MESSAGES} older ones`));
  if (!rows.length) rows.push(element('div', 'idle', 'nothing'));
  $('messages').replaceChildren(...rows);
  $('flying').textContent = shown.length ? number(shown.length) : '';
}

function recordView(record, standing, time, fresh, dead) {
  const [, key, type, elements, leftOut, expiry] = D.records[record];
  const box = element('div', `record${fresh ? ' fresh' : ''}`);
  const left = leftOf(record, standing, time);
  const head = element('div', 'key', element('b', '', S[key]), element('span', 'type', S[type]));
  if (expiry === null) head.append(element('span', 'ttl', 'no expiry'));
  else head.append(element('span', `ttl${left <= 0 ? ' bad' : ''}`, left <= 0 ? 'expired' : `${spanText(left)} left`));
  box.append(head);
  const owners = [...new Set(elements.map(one => S[one[2]]).filter(text => text))];
  if (expiry !== null && !dead) box.append(leftBar(left, LEASE, owners.length ? ownerClient(owners[0]) : ''));
  const list = element('div', 'elements');
  for (const [name, value, owner] of elements) {
    const line = element('div', 'element');
    if (S[name]) line.append(element('code', 'name', S[name]));
    if (S[value] || !S[name]) line.append(element('code', 'value', S[value] || '""'));
    if (S[owner]) line.append(chip(S[owner], ownerClient(S[owner]), `names the acquisition ${S[owner]}`));
    list.append(line);
  }
  if (leftOut) list.append(element('div', 'idle', `and ${many(leftOut, 'element')} more`));
  box.append(list);
  return box;
}
// Of every key that some server has, so that what one lacks shows beside another.
function showServers(state, step, time) {
  const keyed = D.servers.length - D.sentinels;
  const keys = new Set();
  state.records.forEach(map => map.forEach((at, key) => keys.add(key)));
  const all = [...keys].sort((a, b) => (S[a] < S[b] ? -1 : 1));
  const [, kind, row] = step < 0 ? [0, -1, 0] : STEPS[step];
  const cards = D.servers.map((name, server) => {
    const standing = state.standings[server],
      sentinel = server >= keyed,
      role = standing < 0 ? (sentinel ? -1 : 0) : D.standings[standing][1],
      paused = state.pauses.has(name),
      down = role === 0;
    if (sentinel) return null;
    const card = element('article', `card server${down ? ' dead' : ''}${paused ? ' paused' : ''} ${ROLES[role]}`);
    if (kind === STANDING && D.standings[row][0] === server) card.classList.add('fresh');
    const head = element('h3', '', name, element('span', `role ${down ? 'bad' : ROLES[role]}`, ROLES[role]));
    if (paused) head.append(element('span', 'role warn', 'stands still'));
    card.append(head);
    const own = state.records[server];
    if (down && own.size) card.append(element('div', 'idle', 'as it was when it went down:'));
    for (const key of all) {
      const record = own.get(key);
      if (record === undefined) {
        if (keyed <= 3 && !down) card.append(element('div', 'record absent', element('div', 'key', element('b', '', S[key]), element('span', 'type', 'not there'))));
        continue;
      }
      card.append(recordView(record, standing, time, kind === RECORD && row === record, down));
    }
    if (!own.size && (keyed > 3 || down || !all.length)) card.append(element('div', 'idle', 'no keys'));
    return [card, own.size];
  });
  const shown = cards.filter(card => card);
  if (keyed > 3) shown.sort((a, b) => (b[1] > 0) - (a[1] > 0)); // of many those with keys first
  $('servers').replaceChildren(...shown.map(([card]) => card));
}

// Draws by their steps, to find the next ones.
const drawSteps = [];
STEPS.forEach(([, kind], step) => {
  if (kind === DRAWN) drawSteps.push(step);
});
function showDecisions(step, time) {
  const first = upTo(drawSteps, step);
  const rows = drawSteps.slice(first, first + (innerHeight < 900 ? 3 : 5)).map(one => {
    const [at, , row] = STEPS[one],
      [name, count, kind, low, high2, value, fixed] = D.drawings[row],
      stream = S[name];
    const item = element('li', '', element('div', 'stream', stream, ' ', element('span', 'count', `#${number(count)}`)));
    const line = element('div', 'drawn', element('b', '', valueText(stream, kind, value)));
    if (kind === 1) line.append(element('span', 'range', `of ${valueText(stream, kind, low)} to ${valueText(stream, kind, high2)}`));
    if (kind === 2) line.append(element('span', 'range', low === high2 ? 'of one' : 'of yes and no'));
    if (fixed) line.append(element('span', 'tag warn', 'fixed'));
    line.append(element('span', 'in', at - time > 0 ? `in ${spanText(at - time)}` : 'now'));
    if (kind === 1 && typeof value === 'number' && high2 > low) {
      const scale = element('span', 'scale', element('i'));
      scale.style.setProperty('--part', (value - low) / (high2 - low));
      item.append(line, scale);
    } else item.append(line);
    item.tabIndex = 0;
    item.dataset.step = one;
    return item;
  });
  if (!rows.length) rows.push(element('li', 'idle', 'nothing is decided any more'));
  $('decisions').replaceChildren(...rows);
}

const toldSteps = [];
STEPS.forEach(([, kind], step) => {
  if (kind === TOLD) toldSteps.push(step);
});
// As many events as the panel has room for, the last one that happened in the middle.
const EVENT_HEIGHT = 24;
function showEvents(step) {
  const after = upTo(toldSteps, step);
  const room = Math.max(8, Math.floor($('events').clientHeight / EVENT_HEIGHT) - 1),
    from = Math.max(0, Math.min(after - Math.ceil(room * 0.6), toldSteps.length - room));
  $('events').replaceChildren(
    ...toldSteps.slice(from, from + room).map((one, i) => {
      const [at, , row] = STEPS[one],
        [sort, who, text] = D.told[row],
        place = V.find(found => found[4] === at && sort === 0);
      const line = element('div', `event${sort ? ' nemesis' : ''}${one > step ? ' later' : ''}`,
        element('span', 'time', (at / 1000).toFixed(1)), element('span', 'who', sort ? '' : S[who]), element('span', 'text', S[text]));
      line.style.setProperty('--of', sort ? 'var(--faultink)' : colourOf(clientOf(S[who])));
      line.title = `${timeText(at)} ${S[text]}`;
      if (from + i === after - 1) {
        line.classList.add('now');
        line.setAttribute('aria-selected', 'true');
      }
      if (place) line.classList.add('witness');
      line.setAttribute('role', 'option');
      line.dataset.step = one;
      return line;
    }),
  );
}

const SIGNS = { client: '●', fault: '⚡', effect: '⚡', mark: '⚑', record: '▤', message: '✉', decision: '⚄' };
function showNow(step, time) {
  const [sort, text] = words(step);
  $('sign').textContent = SIGNS[sort] || '';
  $('sign').className = sort;
  $('happens').textContent = text;
  $('happens').title = text;
  const places = placesAt(step, time),
    place = places.find(one => one[7].length > 1) || places[0];
  $('alarm').textContent = place ? `✖ ${kindText(place)}` : '';
}
function kindText([check, kind, key, , , , , threads]) {
  const what = (kind || check).replaceAll('-', ' '),
    owners = threads.length > 1 ? ` has ${threads.length} owners: ${threads.map(thread => D.threads[thread]).join(' and ')}` : '';
  return `${what}${key ? `: ${key}${owners}` : ''}`;
}
