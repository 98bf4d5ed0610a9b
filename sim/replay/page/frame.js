// Frame: what the pages of a run and of a tree share: words, elements, the theme, the help. A page has themed(),
// which draws it anew in the colours of the theme.
const $ = id => document.getElementById(id);
const number = n => n.toLocaleString('en');
const many = (n, one, more = one + 's') => `${number(n)} ${n === 1 ? one : more}`;
const timeText = us => `${(Math.floor(us) / 1000).toFixed(3)} ms`;
function spanText(us) {
  const abs = Math.abs(us);
  return abs >= 2e6 ? `${(us / 1e6).toFixed(2)} s` : abs >= 1e3 ? `${(us / 1e3).toFixed(1)} ms` : `${Math.round(us)} µs`;
}
const sentence = text => text.charAt(0).toUpperCase() + text.slice(1);
function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter(child => child !== null && child !== undefined && child !== ''));
  return made;
}
const systemDark = matchMedia('(prefers-color-scheme: dark)');
let chosenTheme = null;
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  themed();
}
function toggleTheme() {
  chosenTheme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  setTheme(chosenTheme);
}
function toggleHelp(on = $('help').hidden) {
  $('help').hidden = !on;
  $('helped').setAttribute('aria-expanded', String(on));
}
systemDark.addEventListener('change', () => {
  if (!chosenTheme) setTheme(systemDark.matches ? 'dark' : 'light');
});
