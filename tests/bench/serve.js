// serve.js FOLDER: the folder by HTTP on a free port of this machine, which is printed. For Lighthouse, which takes no file: URLs.
'use strict';
const http = require('http'), fs = require('fs'), path = require('path'), zlib = require('zlib');
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.json': 'application/json', '.png': 'image/png', '.svg': 'image/svg+xml' };
const root = path.resolve(process.argv[2]);
const server = http.createServer((q, a) => {
  const file = path.join(root, path.normalize(decodeURIComponent(new URL(q.url, 'http://x').pathname)));
  if (!file.startsWith(root) || !fs.existsSync(file) || !fs.statSync(file).isFile()) { a.writeHead(404); a.end(); return; }
  a.writeHead(200, { 'content-type': types[path.extname(file)] || 'text/plain', 'content-encoding': 'gzip' });
  a.end(zlib.gzipSync(fs.readFileSync(file)));
}).listen(0, '127.0.0.1', () => console.log(server.address().port));
