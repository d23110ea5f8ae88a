'use strict';
/* Tables sort by a click on a column's name, and long ones filter. The pages are complete without it. */
(() => {
  const buttons = [];
  const value = (row, i) => {
    const cell = row.cells[i], text = cell.textContent.trim();
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const number = /^[<+-]?\s?[\d,.]+/.test(text) ? parseFloat(text.replace(/[<+,\s]/g, '')) : NaN;
    return Number.isNaN(number) ? text : number;
  };
  const order = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b
    : typeof a === 'number' ? -1 : typeof b === 'number' ? 1 : a.localeCompare(b, 'en', { numeric: true });
  /* A row that unfolds forms a group with the rows inside it. */
  const groups = table => table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies[0].rows];
  const first = group => group.rows ? group.rows[0] : group;
  const sortable = table => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, i) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'sort';
      button.append(...head.childNodes);
      head.append(button);
      buttons.push([head, button]);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending' ||
          (!head.hasAttribute('aria-sort') && head.classList.contains('num'));
        heads.forEach(h => h.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rows = groups(table).map((row, at) => ({ row, at, key: value(first(row), i) }));
        rows.sort((a, b) => (down ? order(b.key, a.key) : order(a.key, b.key)) || a.at - b.at);
        rows[0].row.parentElement.append(...rows.map(r => r.row));
      });
    });
  };
  const filterable = table => {
    const label = document.createElement('label'), input = document.createElement('input');
    label.className = 'filter';
    input.type = 'search';
    input.addEventListener('input', () => {
      table.classList.remove('long', 'cut');
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of groups(table))
        row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
    });
    label.append('Filter ', input);
    table.parentElement.before(label);
  };
  /* On a phone a long table shows its first rows, and everywhere long names of kernels show their first lines. The
   * style sheet decides where, and prints all rows. */
  const LONG_NAME = 150;
  const hasLongNames = table => groups(table).some(row => first(row).cells[0].textContent.length > LONG_NAME);
  const foldable = (table, n, cut) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'all';
    button.textContent = 'All ' + n + ' rows in full';
    button.addEventListener('click', () => table.classList.remove('long', 'cut'));
    table.classList.add('long');
    table.classList.toggle('cut', cut);
    table.parentElement.after(button);
  };
  /* A table head that repeats on the next sheet is printed without the words of its button. */
  addEventListener('beforeprint', () => { for (const [head, button] of buttons) head.replaceChildren(...button.childNodes); });
  addEventListener('afterprint', () => { for (const [head, button] of buttons) { button.append(...head.childNodes); head.append(button); } });
  for (const table of document.querySelectorAll('.scroll > table')) {
    const n = table.tBodies.length && table.tHead ? groups(table).length : 0;
    if (n > 2) sortable(table);
    const cut = n > 2 && hasLongNames(table);
    if (n > 12) filterable(table);
    if (n > 12 || cut) foldable(table, n, cut);
  }
})();
