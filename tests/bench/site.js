// site.js TOOLS INDEX TIMELINE: first paint of INDEX, opening and panning of TIMELINE.
'use strict';
const [, , tools, index, timeline] = process.argv;
const { launch } = require('../browser/browser.js')(tools);
const wait = ms => new Promise(done => setTimeout(done, ms));

/* Two seconds of small moves, one a frame. */
const pan = page => page.evaluate(() => new Promise(done => {
  const canvas = document.getElementById('canvas'), began = performance.now();
  let n = 0, last = began, worst = 0;
  const frame = now => {
    n++;
    worst = Math.max(worst, now - last);
    last = now;
    if (now - began > 2000) { done(Math.round(n / (now - began) * 1000) + ' frames/s, longest ' + Math.round(worst) + ' ms'); return; }
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaX: 12 * Math.sin(n / 15), cancelable: true, bubbles: true }));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}));

(async () => {
  const browser = await launch();
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  for (let i = 0; i < 2; i++) { /* the first page of a browser pays for its start */
    await page.goto('file://' + index);
    await wait(300);
  }
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)[0]);
  console.log('index.html from disk: first contentful paint after ' + Math.round(paint) + ' ms');
  const began = Date.now();
  await page.goto('file://' + timeline);
  await page.waitForFunction("!document.getElementById('timeline').hidden");
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  console.log('timeline of 10^6 ranges: open and drawn after ' + (Date.now() - began) + ' ms');
  await wait(500);
  console.log('  panned whole: ' + await pan(page));
  const box = await (await page.$('#canvas')).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  for (let i = 0; i < 12; i++) await page.mouse.wheel({ deltaY: -400 });
  await wait(800);
  console.log('  panned zoomed in: ' + await pan(page));
  await browser.close();
})().catch(e => { console.error(String(e)); process.exit(1); });
