// axe.js TOOLS PAGE...: axe-core over pages from disk, light and dark. Prints its findings, then the number of checks;
// exit 1 on findings.
'use strict';
const [, , tools, ...pages] = process.argv;
const { launch, root } = require('./browser.js')(tools);
const axe = require('fs').readFileSync(root + '/axe-core/axe.min.js', 'utf8');

(async () => {
  const browser = await launch();
  let found = 0, looked = 0;
  const left = [...pages];
  const look = async () => {
    const path = left.shift();
    if (!path) return;
    const page = await browser.newPage();
    await page.setBypassCSP(true); /* axe itself is a script that the policy would not allow */
    await page.setViewport({ width: 1280, height: 900 });
    for (const scheme of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      if (scheme === 'light') {
        await page.goto('file://' + path);
        await page.evaluate(axe);
      }
      await new Promise(done => setTimeout(done, 100));
      /* The scheme changes colours and nothing else. */
      const rules = scheme === 'light' ? {} : { runOnly: ['color-contrast'] };
      const result = await page.evaluate(r => axe.run(document, { resultTypes: ['violations'], ...r }), rules);
      for (const v of result.violations) {
        found++;
        console.log(scheme, path.split('/').pop(), v.id, v.nodes.length, v.nodes[0].html.slice(0, 160));
      }
      looked++;
    }
    await page.close();
    await look();
  };
  await Promise.all([look(), look()]); /* two pages at a time, each in its own renderer */
  console.log(looked);
  await browser.close();
  process.exit(found ? 1 : 0);
})().catch(e => { console.log(String(e)); process.exit(1); });
