// screenshots.js TOOLS SITE OUT PAGE...: each page whole, at three widths, light and dark, and once in grey.
'use strict';
const [, , tools, site, out, ...pages] = process.argv;
const { launch } = require('./browser.js')(tools);

(async () => {
  const browser = await launch('--hide-scrollbars');
  let n = 0;
  for (const path of pages) {
    const page = await browser.newPage();
    for (const scheme of ['light', 'dark', 'grey']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme === 'dark' ? 'dark' : 'light' }]);
      await page.emulateVisionDeficiency(scheme === 'grey' ? 'achromatopsia' : 'none');
      for (const width of scheme === 'grey' ? [1280] : [390, 1280, 1920]) {
        await page.setViewport({ width, height: 900 });
        await page.goto('file://' + site + '/' + path);
        await new Promise(done => setTimeout(done, path.includes('timeline') ? 700 : 100));
        await page.screenshot({ path: out + '/' + path.replace(/\//g, '_').replace('.html', '') + '-' + width + '-' + scheme + '.png', fullPage: true });
        n++;
      }
    }
    await page.close();
  }
  await browser.close();
  console.log(n + ' screenshots in ' + out);
})().catch(e => { console.error(String(e)); process.exit(1); });
