// print.js TOOLS PAGE...: checks pages as printed on A4; prints ok or not ok. Needs no printer.
'use strict';
const [, , tools, ...pages] = process.argv;
const { launch } = require('./browser.js')(tools);
const WIDTH = 680, HEIGHT = 1013; /* A4 less the margins of the style sheet, in CSS pixels */

/* Elements of the page, with the media of paper, that are cut off or would leave a gap as large as themselves. */
function look(width, height) {
  const wrong = [];
  if (document.documentElement.scrollWidth > width) wrong.push('wider than the paper: ' + document.documentElement.scrollWidth);
  for (const f of document.querySelectorAll('figure')) {
    const box = f.getBoundingClientRect();
    if (box.height > height) wrong.push('figure ' + f.id + ' is longer than a page');
    for (const s of f.querySelectorAll('svg')) {
      const at = s.getBoundingClientRect();
      if (at.width > 0 && (at.right > width + 1 || at.left < -1)) wrong.push('figure ' + f.id + ' is cut');
    }
  }
  for (const t of document.querySelectorAll('table')) {
    const at = t.getBoundingClientRect();
    if (at.width > 0 && at.right > width + 1) wrong.push('table "' + (t.caption ? t.caption.textContent : '') + '" is cut: ' + Math.round(at.right));
  }
  for (const e of document.querySelectorAll('nav, button:not(.sort), input')) if (e.getClientRects().length) wrong.push('a control is printed');
  return { wrong, height: document.documentElement.scrollHeight };
}

(async () => {
  const browser = await launch();
  for (const path of pages) {
    const page = await browser.newPage();
    await page.setViewport({ width: WIDTH, height: HEIGHT });
    await page.emulateMediaType('print');
    await page.goto('file://' + path);
    const { wrong, height } = await page.evaluate(look, WIDTH, HEIGHT);
    const pdf = Buffer.from(await page.pdf({ preferCSSPageSize: true, printBackground: true })).toString('latin1');
    const n = (pdf.match(/\/Type\s*\/Page\b/g) || []).length, least = Math.ceil(height / HEIGHT);
    if (n < 1 || n > least + 1 + least / 3) wrong.push(n + ' pages for what fits on ' + least);
    console.log((wrong.length ? 'not ok ' : 'ok ') + path.split('/').slice(-2).join('/') + ': printed' +
      (wrong.length ? ' (' + wrong.slice(0, 4).join('; ') + ')' : ' on ' + n + ' pages'));
    await page.close();
  }
  await browser.close();
})().catch(e => { console.log('not ok printing ran to its end (' + e.message + ')'); process.exit(1); });
