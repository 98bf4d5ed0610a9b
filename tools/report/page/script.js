'use strict';
// Tables: a click on a head sorts by it, figures from the largest on; the same click again turns it around.
for (const table of document.querySelectorAll('table.sorts')) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const first = head.classList.contains('figures') ? 'descending' : 'ascending';
      const now = head.getAttribute('aria-sort');
      const order = now === null ? first : now === 'ascending' ? 'descending' : 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', order);
      const key = row => {
        const cell = row.cells[column];
        return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
      };
      const sign = order === 'ascending' ? 1 : -1;
      const rows = [...body.rows].map(row => ({ row, key: key(row) }));
      rows.sort((a, b) => {
        if (a.key === '' || b.key === '') return (a.key === '') - (b.key === '');  // nothing comes last
        if (typeof a.key === 'number' && typeof b.key === 'number') return sign * (a.key - b.key);
        return sign * String(a.key).localeCompare(String(b.key), 'en', { numeric: true });
      });
      body.append(...rows.map(one => one.row));
    });
  });
}
// Timelines: each is a page of its own, made when it is looked at, and shut into a frame.
const text = id => JSON.parse(document.getElementById(id).textContent);
for (const details of document.querySelectorAll('details.timeline')) {
  details.addEventListener('toggle', () => {
    if (!details.open || details.querySelector('iframe')) return;
    const [head, tail] = text('timeline-frame'), frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.title = 'Timeline';
    frame.srcdoc = head + text('timeline-' + details.dataset.timeline) + tail;
    details.append(frame);
  });
}
// On paper everything is open; afterwards it is as it was.
let opened = [];
addEventListener('beforeprint', () => {
  opened = [...document.querySelectorAll('details:not([open]):not(.timeline)')];
  for (const details of opened) details.open = true;
});
addEventListener('afterprint', () => { for (const details of opened) details.open = false });
