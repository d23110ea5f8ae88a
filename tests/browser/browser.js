// browser.js - chromium of the system, driven by puppeteer-core of the tools folder.
'use strict';
module.exports = tools => {
  const root = tools + '/node_modules';
  const puppeteer = require(root + '/puppeteer-core');
  const { execSync } = require('child_process');
  return {
    root,
    launch: (...args) => puppeteer.launch({
      executablePath: execSync('command -v chromium').toString().trim(),
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND', ...args],
    }),
  };
};
