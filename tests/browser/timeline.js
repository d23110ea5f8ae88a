// timeline.js TOOLS PAGE GPU-INDEX COMPARE: uses a timeline as a reader would, then that of a GPU trace, from the first page of its
// site on, then a table whose rows unfold; prints ok or not ok.
'use strict';
const [, , tools, path, gpu, compare] = process.argv;
const { launch } = require('./browser.js')(tools);
const say = (good, what, why) => console.log((good ? 'ok ' : 'not ok ') + what + (good ? '' : ' (' + JSON.stringify(why) + ')'));
const wait = ms => new Promise(done => setTimeout(done, ms));

(async () => {
  const browser = await launch(), page = await browser.newPage(), errors = [];
  page.on('console', m => errors.push(m.text()));
  page.on('pageerror', e => errors.push(e.message));
  await page.setViewport({ width: 1280, height: 1000 });
  const there = p => p.waitForFunction("document.getElementById('timeline') && !document.getElementById('timeline').hidden", { timeout: 5000 });
  const url = 'file://' + path;
  await page.goto(url);
  await there(page);
  await wait(500);
  const view = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  const ink = () => page.evaluate(() => {
    const c = document.getElementById('canvas'), d = c.getContext('2d').getImageData(c.width / 2, 0, c.width / 2, c.height).data, seen = new Set();
    for (let i = 0; i < d.length; i += 4) seen.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]);
    return seen.size;
  });
  const all = await view();
  say(Number(all.to) > Number(all.from), 'the address holds the view', all);
  const inks = await ink();
  say(inks > 3, 'ranges are drawn', inks);
  const box = await (await page.$('#canvas')).boundingBox(), x = box.x + box.width * 0.6, y = box.y + 24 + 8;
  await page.mouse.move(x, y);
  for (let i = 0; i < 6; i++) await page.mouse.wheel({ deltaY: -500 });
  await wait(600);
  const near = await view();
  say(near.to - near.from < (all.to - all.from) / 4, 'the wheel zooms in', [all, near]);
  await page.mouse.down();
  await page.mouse.move(x - 200, y, { steps: 5 });
  await page.mouse.up();
  await wait(600);
  const moved = await view();
  say(Number(moved.from) > Number(near.from) && Math.abs((moved.to - moved.from) - (near.to - near.from)) < 10, 'dragging moves', [near, moved]);
  await page.click('[data-do=all]');
  await page.type('#find', 'step');
  await page.click('[data-do=next]');
  await wait(800);
  const name = await page.evaluate(() => (document.querySelector('#chosen h2') || {}).textContent);
  say(name === 'step', 'finding chooses a range', name);
  const facts = await page.evaluate(() => document.getElementById('chosen').innerText);
  say(/Duration/.test(facts) && /itself|inside it/.test(facts), 'a range tells what is in it', facts);
  const chosen = await view(), again = await browser.newPage();
  await again.goto(url + '#' + new URLSearchParams(chosen));
  await again.waitForSelector('#chosen h2', { timeout: 5000 });
  await wait(500);
  const restored = await again.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  say(restored.from === chosen.from && restored.to === chosen.to && restored.at === chosen.at && restored.row === chosen.row, 'a link restores the view', [chosen, restored]);
  await again.evaluate(() => {
    window.blobs = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = b => { b.text().then(t => window.blobs.push(t)); return make.call(URL, b); };
  });
  await again.click('[data-do=export]');
  await again.waitForFunction('window.blobs.length > 0', { timeout: 5000 });
  const events = JSON.parse(await again.evaluate(() => window.blobs[0])).traceEvents;
  const ranges = events.filter(e => e.ph === 'X');
  say(ranges.length > 0 && ranges.every(e => e.dur >= 0 && Number.isFinite(e.ts) && e.name && Number.isInteger(e.pid)), 'the export is Perfetto JSON', ranges.slice(0, 2));
  await page.bringToFront();
  await page.focus('#canvas');
  await page.keyboard.press('+');
  await wait(500);
  const keyed = await view();
  await page.keyboard.press('Home');
  await wait(500);
  const home = await view();
  say(keyed.to - keyed.from < home.to - home.from, 'keys zoom', [keyed, home]);
  await page.keyboard.press('Enter');
  await page.waitForSelector('#chosen h2', { timeout: 5000 });
  await wait(300);
  const heard = [], press = async key => { await page.keyboard.press(key); await wait(500); const v = await view(); heard.push([key, v.row, v.at]); return v; };
  const [first, next, back, below] = [await view(), await press('n'), await press('p'), await press('PageDown')];
  say(Number(next.at) > Number(first.at) && next.row === first.row && back.at === first.at && Number(below.row) > Number(first.row),
    'keys lead from range to range', [first, heard]);
  await press('ArrowRight');
  const status = await page.evaluate(() => document.getElementById('said').textContent);
  say(/^[\d.]+ (ns|us|ms|s) to [\d.]+ (ns|us|ms|s)$/.test(status), 'where the view went is said', status);
  const node = await page.accessibility.snapshot({ root: await page.$('#canvas') });
  say(node && node.role === 'application' && /every rank/.test(node.name) && /Page Down/.test(node.description), 'a screen reader hears what the drawing is and its keys', node);
  /* Streams of a GPU and threads of its host, and names that are markup. */
  const chosenText = p => p.evaluate(() => document.getElementById('chosen').innerText);
  /* Three clicks: the run, its timeline, the collective. */
  const follow = words => page.evaluate(w => [...document.querySelectorAll('a')].find(a => new RegExp(w).test(a.textContent)).click(), words);
  await page.goto('file://' + gpu);
  await Promise.all([page.waitForNavigation(), follow('^Run ')]);
  await Promise.all([page.waitForNavigation(), follow('^Timeline$')]);
  await there(page);
  await follow('^ncclDevKernel');
  await page.waitForSelector('#chosen h2', { timeout: 5000 });
  const collective = await chosenText(page);
  say(/^ncclDevKernel_AllReduce/.test(collective) && /rank 3/.test(collective) && /communication/.test(collective) && /3,700,000 ns/.test(collective),
    'three clicks lead from the first page to one collective of one rank', collective);
  await page.focus('#canvas');
  await page.keyboard.press('Escape');
  await page.click('[data-do=all]');
  await wait(500);
  const gpuInks = await ink();
  say(gpuInks > 4, 'a GPU trace is drawn', gpuInks);
  const tracks = await page.evaluate(() => document.querySelector('.support').textContent);
  say(/kernels and copies of GPUs, by stream/.test(tracks), 'streams are named as such', tracks);
  await page.type('#find', 'ncclDevKernel');
  await page.click('[data-do=next]');
  await wait(500);
  const nccl = await chosenText(page);
  say(/ncclDevKernel_AllReduce/.test(nccl) && /stream 20/.test(nccl) && /3\.00 ms \(3,000,000 ns\)/.test(nccl), 'a collective of a stream is found, to the nanosecond', nccl);
  await page.click('#find', { clickCount: 3 });
  await page.type('#find', 'fuse<script>');
  await page.click('[data-do=next]');
  await wait(500);
  const kernel = await chosenText(page);
  say(/fuse<script>alert\(1\)<\/script>/.test(kernel) && await page.evaluate(() => !document.querySelector('#chosen script, #chosen img')), 'a kernel named <script> is text', kernel);
  /* Kernels by short names, which unfold to the full ones. */
  await page.goto('file://' + compare);
  const rows = () => page.evaluate(() => {
    const table = document.querySelector('.unfold').closest('table');
    return [...table.tBodies].map(b => [b.rows[0].cells[0].innerText.trim().split(' ')[0], [...b.rows].filter(r => r.getClientRects().length).length]);
  });
  const table = f => page.evaluate(f);
  await table(() => { for (const d of document.querySelectorAll('details.more')) d.open = true; });
  const folded = await rows();
  say(folded.length > 3 && folded.every(r => r[1] === 1), 'full names are folded', folded);
  await page.click('tbody:nth-of-type(2) .unfold summary');
  const open = await rows();
  say(open[1][1] > 1 && open.every((r, i) => r[1] === folded[i][1] || i === 1), 'a row unfolds to its names, and no other', open);
  await table(() => document.querySelector('.unfold').closest('table').tHead.rows[0].cells[0].querySelector('button').click());
  const sorted = await rows(), names = sorted.map(r => r[0]);
  say(names.join() === [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).join() && sorted.some(r => r[0] === open[1][0] && r[1] === open[1][1]),
    'sorted rows keep what they unfold to', sorted);
  say(await table(() => [...document.querySelectorAll('.inside')].some(r => /<script>alert/.test(r.innerText)) && !document.querySelector('main img')),
    'a full name that is markup is text', '');
  say(errors.length === 0, 'no complaint', errors);
  await browser.close();
})().catch(e => { console.log('not ok ' + e.message); process.exit(1); });
