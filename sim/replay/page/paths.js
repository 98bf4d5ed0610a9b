// Paths: the data of the tree, and where the cursor may be in it. Times are microseconds since the first event.
//
//   D.runs      [number, parent, point, choice, points, end, same as, below, broke below, decisions | null, same from | null]
//               parent: a place in D.runs; point, choice: the decision of the parent at which it departs, and what it
//               came to there; points: decisions in all; end: KEPT, JOINED or BROKE; same from, same as: from that decision
//               on it goes as the run of that number, JOINED: it ended there; below: how many runs come from it;
//               decisions: those after its departure, null: they are not on the page
//   decision    [time, kind (ORDER, ...), stream, number, options, branches]
//   D.options   of a decision: names of tasks, or values, the usual one first
//   branches    a letter for each alternative, see BRANCHES
//   D.shown     numbers of the runs that are recorded; each is the text of an element run-NUMBER
//
// Streams and branches are numbers of D.strings.
const D = JSON.parse($('data').textContent),
  S = D.strings,
  RUNS = D.runs;
const KEPT = 0, JOINED = 1, BROKE = 2;
const ORDER = 0, TIME = 1, CHANCE = 2, PLACE = 3;
const BRANCHES = {
  r: 'run',
  c: 'run, and not on this page: it is too large for one',
  s: 'run from another one, which was in this state before',
  a: 'not run: it comes to the same, whichever of the two goes first',
  b: `not run: beyond the bound (${D.bound})`,
  e: 'not run: the search had ended',
};
const numberOf = run => RUNS[run][0];
const placeOf = new Map(RUNS.map(([number], run) => [number, run]));
// The runs from which this one comes, the first one first, itself last.
function chainOf(run) {
  const chain = [run];
  for (; chain[0] !== 0; chain.unshift(RUNS[chain[0]][1]));
  return chain;
}
const firstOf = run => (run === 0 ? 0 : RUNS[run][2] + 1);
const isOpen = run => RUNS[run][9] !== null;
// How many of its decisions are on the page: those before its departure are its parent's.
const knownOf = run => (isOpen(run) ? RUNS[run][4] : Math.min(firstOf(run), RUNS[run][4]));
// The run of the chain whose decision that is.
function ownerOf(run, point) {
  while (run !== 0 && point < firstOf(run)) run = RUNS[run][1];
  return run;
}
function decisionOf(run, point) {
  const owner = ownerOf(run, point);
  return isOpen(owner) ? RUNS[owner][9][point - firstOf(owner)] : undefined;
}
// What the decision came to in this run: the choice of the run that departs there, the usual one else.
function choiceOf(run, point) {
  for (; run !== 0 && point <= RUNS[run][2]; run = RUNS[run][1]) if (RUNS[run][2] === point) return RUNS[run][3];
  return 0;
}
const children = RUNS.map(() => new Map()); // "point/choice" -> run
RUNS.forEach(([, parent, point, choice], run) => {
  if (run !== 0) children[parent].set(`${point}/${choice}`, run);
});
const childOf = (run, point, choice) => children[run].get(`${point}/${choice}`);
// The run in which the decision comes to that: the one that was asked, an ancestor, or one that departs there.
function branchOf(run, point, choice) {
  if (choiceOf(run, point) === choice) return run;
  let owner = run;
  for (; owner !== 0 && point <= RUNS[owner][2]; owner = RUNS[owner][1]);
  return choice === 0 ? owner : childOf(owner, point, choice);
}

// In words.
const countOf = decision => (decision[1] === ORDER || decision[1] === TIME ? D.options[decision[4]].length : 2);
function linkOf(stream) {
  const [what, from, to, way] = stream.split('/');
  if (what !== 'network') return stream;
  return way === 'reply' ? `${to} → ${from}, reply` : way ? `${from} → ${to}, ${way}` : stream;
}
const faultOf = stream => stream.split('/')[1] || stream;
const timeOfNs = ns => spanText(ns / 1000);
function subjectOf([, kind, stream, count, options]) {
  const name = S[stream];
  if (kind === ORDER) return `${many(D.options[options].length, 'task')} can go on`;
  if (kind === PLACE) return `fault ${faultOf(name)} may act, at the ${ordinal(count)} place`;
  if (kind === CHANCE) return `fault ${faultOf(name)} may meet this`;
  return name.startsWith('network/') ? `message ${linkOf(name)}, #${number(count)}` : `${name} #${number(count)}`;
}
function optionOf([, kind, stream, count, options], choice) {
  if (kind === ORDER) return `${D.options[options][choice]} goes first`;
  if (kind === PLACE) return choice ? `it acts here` : 'it does not act here';
  if (kind === CHANCE) return choice ? 'it does' : 'it does not';
  return `takes ${timeOfNs(D.options[options][choice])}`;
}
// As a line of a list: what it came to, first of all.
function lineOf(decision, choice) {
  const [, kind, stream, count, options] = decision,
    name = S[stream];
  if (kind === ORDER) return `${D.options[options][choice]} first, of ${number(D.options[options].length)}`;
  if (kind === PLACE) return `${faultOf(name)} ${choice ? 'acts' : 'does not act'}, place ${number(count)}`;
  if (kind === CHANCE) return `${faultOf(name)} ${choice ? 'meets this' : 'does not meet this'}`;
  return `${timeOfNs(D.options[options][choice])}, ${name.startsWith('network/') ? linkOf(name) : name} #${number(count)}`;
}
function ordinal(n) {
  const last = n % 100 > 10 && n % 100 < 14 ? 0 : n % 10;
  return `${number(n)}${['th', 'st', 'nd', 'rd'][last] || 'th'}`;
}
const SIGN = ['⇄', '✉', '⚡', '⚡'];
function endText(run) {
  const [, , , , points, end, same] = RUNS[run];
  if (end === BROKE) return `breaks ${D.violation[0]}`;
  if (end === JOINED) return `ends after ${many(points, 'decision')}: in a state in which run ${number(same)} had been`;
  return 'goes to its end and keeps all promises';
}
function belowText(run) {
  const [, , , , , , , below, broke] = RUNS[run];
  if (!below) return '';
  return `${many(below, 'run')} ${below === 1 ? 'departs' : 'depart'} from it, or from these${broke ? `; ${number(broke)} of them ${broke === 1 ? 'breaks' : 'break'} a promise` : ''}`;
}
const markOf = run => ['kept', 'joined', 'broke'][RUNS[run][5]];
