'use strict';
/* The timeline of one run: ranges of every rank on a canvas. The data are in script files, one for each tile of a level
 * of detail, which call dcreport(key, data); render/site/timeline/levels.h describes them. Times are ns since the first
 * range. */
(() => {
  const stage = document.getElementById('stage'), canvas = document.getElementById('canvas');
  const ctx = canvas.getContext('2d'), said = document.getElementById('said'), chosen = document.getElementById('chosen');
  const find = document.getElementById('find');
  const ROW = 18, AXIS = 24, LABEL = 6.2, LEAST = 20;
  const inks = { compute: '#005a91', comm: '#d55e00', data: '#e69f00', io: '#cc79a7', copy: '#56b4e9', other: '#c2c8ce',
    validation: '#009e73', step: '#7d8894', plain: '#aab4bd', paper: '#fff', text: '#1c2127', muted: '#57606a', line: '#d9dee3',
    shade: '#eef1f4', accent: '#0067a3' };
  const words = { compute: 'compute', comm: 'communication', data: 'data loading', io: 'I/O', copy: 'copies', other: 'overhead',
    validation: 'validation', step: 'step', plain: 'other range' };
  let meta = null, levels = [], rowTrack = [], isAlone = false, gutter = 110;
  let width = 0, height = 0, from = 0, to = 1, top = 0, pick = null, hover = null, matches = null, waiting = false;
  const tiles = new Map(); /* key -> {promise, rows: Map of row -> columns} */

  /* ---- data ---- */
  const pending = new Map();
  window.dcreport = (key, data) => { const done = pending.get(key); pending.delete(key); if (done) done(data); };
  const script = key => new Promise((done, failed) => {
    const element = document.createElement('script');
    pending.set(key, done);
    element.src = 'timeline/' + key + '.js';
    element.onerror = () => { pending.delete(key); failed(new Error('cannot read timeline/' + key + '.js')); };
    element.onload = () => element.remove();
    document.head.append(element);
  });
  const columns = (flat, zero) => {
    const n = flat.length / 4, c = { n, start: new Float64Array(n), dur: new Float64Array(n), name: new Int32Array(n), extra: new Float64Array(n) };
    for (let i = 0, at = zero; i < n; i++) {
      c.start[i] = at += flat[4 * i];
      c.dur[i] = flat[4 * i + 1];
      c.name[i] = flat[4 * i + 2];
      c.extra[i] = flat[4 * i + 3];
    }
    return c;
  };
  const load = (level, t) => {
    const key = level + '-' + t;
    let tile = tiles.get(key);
    if (!tile) {
      tile = { rows: null };
      tiles.set(key, tile);
      tile.promise = script(key).then(data => {
        tile.rows = new Map(data.map(([row, flat]) => [row, columns(flat, t * levels[level].tile)]));
        redraw();
        return tile;
      }).catch(e => { say(e.message); throw e; });
      tile.promise.catch(() => {});
    }
    return tile;
  };
  const span = (level, a, b) => {
    const { tile, tiles: n } = levels[level], first = Math.max(0, Math.floor(a / tile));
    return { first, last: Math.min(n - 1, Math.floor(b / tile)) };
  };
  const last = () => levels.length - 1;
  /* Every range between a and b, of these rows, each once. */
  const ranges = async (a, b, rows, tell) => {
    const { first, last: end } = span(last(), a, b), found = [];
    for (let t = first; t <= end; t++) {
      if (tell && end > first + 2) say('reading ' + (t - first + 1) + ' of ' + (end - first + 1));
      const tile = await load(last(), t).promise;
      for (const [row, c] of tile.rows) {
        if (rows && !rows(row)) continue;
        for (let i = 0; i < c.n; i++)
          if (c.start[i] <= b && c.start[i] + c.dur[i] >= a && (t === first || c.start[i] >= t * levels[last()].tile))
            found.push({ row, start: c.start[i], dur: c.dur[i], name: c.name[i], extra: c.extra[i] });
      }
    }
    if (tell) say('');
    return found;
  };

  /* ---- words ---- */
  const say = text => { said.textContent = text; };
  const time = ns => {
    const [unit, k] = ns >= 1e9 ? ['s', 1e9] : ns >= 1e6 ? ['ms', 1e6] : ns >= 1e3 ? ['us', 1e3] : ['ns', 1], v = ns / k;
    return (v >= 100 || k === 1 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)) + ' ' + unit;
  };
  const group = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  const bytes = n => n >= 1e9 ? (n / 1e9).toPrecision(3) + ' GB' : n >= 1e6 ? (n / 1e6).toPrecision(3) + ' MB'
    : n >= 1e3 ? (n / 1e3).toPrecision(3) + ' kB' : n + ' B';
  const nameOf = r => r.name < 0 ? group(r.extra) + (r.extra === 1 ? ' short range' : ' short ranges') : meta.names[r.name].name;
  const colourOf = name => name < 0 ? -1 - name : meta.names[name].colour;

  /* ---- drawing ---- */
  let fills = [], onFills = [], strips = []; /* a strip at the foot or the head of a bar, to tell bars apart without colours */
  const recolour = () => {
    const style = getComputedStyle(document.documentElement);
    for (const k of Object.keys(inks)) inks[k] = style.getPropertyValue('--' + k).trim() || inks[k];
    const ink = style.getPropertyValue('--on-comm').trim() || '#000';
    fills = meta.colours.map(c => inks[c]);
    strips = meta.colours.map(c => c === 'comm' ? ROW - 5 : c === 'io' ? 0 : -1);
    onFills = meta.colours.map(c => style.getPropertyValue('--on-' + c).trim() || ink);
  };
  const resize = () => {
    const box = stage.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    gutter = box.width < 600 ? 64 : 128;
    width = Math.max(50, box.width - gutter);
    height = Math.min(AXIS + meta.rows * ROW + 4, Math.max(240, window.innerHeight * 0.68));
    canvas.style.height = height + 'px';
    canvas.width = Math.round(box.width * scale);
    canvas.height = Math.round(height * scale);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    redraw();
  };
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };
  const fitLevel = perPixel => { let k = 0; while (k < last() && levels[k].width > perPixel) k++; return k; };
  /* The tiles to draw: those of the level that fits or, until they have arrived, those of a coarser level that is
   * loaded. */
  const shown = (level, t) => {
    const tile = load(level, t);
    if (tile.rows) return [tile];
    for (let k = level - 1, at = t; k >= 0; k--) {
      at = Math.floor(at / 4);
      const coarse = tiles.get(k + '-' + at);
      if (coarse && coarse.rows) return [coarse];
    }
    return [];
  };
  const lowerBound = (c, a) => {
    let lo = 0, hi = c.n;
    while (lo < hi) { const mid = lo + hi >> 1; if (c.start[mid] < a) lo = mid + 1; else hi = mid; }
    while (lo > 0 && c.start[lo - 1] + c.dur[lo - 1] >= a) lo--;
    return lo;
  };
  const drawRow = (c, y, perPixel) => {
    let lastX = -1, lastInk = -1, fill = -1; /* values that the canvas already has are not set again, because that costs more than a bar */
    for (let i = lowerBound(c, from); i < c.n && c.start[i] <= to; i++) {
      const x0 = Math.max(0, (c.start[i] - from) / perPixel), x1 = Math.min(width, (c.start[i] + c.dur[i] - from) / perPixel);
      const ink = colourOf(c.name[i]), w = x1 - x0, isMatch = !matches || matches.has(c.name[i]);
      if (w < 1 && Math.floor(x0) === lastX && ink === lastInk) continue;
      lastX = Math.floor(x0);
      lastInk = ink;
      if (matches) ctx.globalAlpha = isMatch ? 1 : 0.18;
      if (fill !== ink) ctx.fillStyle = fills[fill = ink];
      ctx.fillRect(gutter + x0, y, Math.max(w > 4 ? w - 0.75 : w, 1), ROW - 2);
      if (w > 3 && strips[ink] >= 0) {
        ctx.fillStyle = onFills[ink];
        fill = -1;
        ctx.fillRect(gutter + x0, y + strips[ink], w - 0.75, 3);
      }
      if (w > 28) {
        const text = c.name[i] < 0 ? '' : meta.names[c.name[i]].name, room = Math.floor((w - 6) / LABEL);
        if (text && (text.length <= room || room > 5)) {
          ctx.fillStyle = onFills[ink];
          fill = -1;
          ctx.fillText(text.length > room ? text.slice(0, room - 1) + '\u2026' : text, gutter + x0 + 3, y + 12);
        }
      }
    }
    ctx.globalAlpha = 1;
  };
  const drawAxis = () => {
    const rough = (to - from) / Math.max(2, width / 110), base = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = Math.max(1, [1, 2, 5, 10].map(m => m * base).find(s => s >= rough));
    const [unit, k] = step >= 1e9 ? ['s', 1e9] : step >= 1e6 ? ['ms', 1e6] : step >= 1e3 ? ['us', 1e3] : ['ns', 1];
    ctx.fillStyle = inks.muted;
    ctx.strokeStyle = inks.line;
    ctx.beginPath();
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = gutter + (at - from) / (to - from) * width;
      ctx.moveTo(x, AXIS - 5);
      ctx.lineTo(x, height);
      const text = (k === 1e9 ? (at / k).toFixed(Math.max(0, Math.ceil(-Math.log10(step / k) - 1e-9))) : group(at / k)) + ' ' + unit;
      if (x + text.length * LABEL < gutter + width) ctx.fillText(text, x + 3, 13);
    }
    ctx.stroke();
  };
  const drawLabels = () => {
    ctx.fillStyle = inks.paper;
    ctx.fillRect(0, 0, gutter - 1, height);
    ctx.fillStyle = inks.text;
    ctx.strokeStyle = inks.line;
    ctx.beginPath();
    for (const t of meta.tracks) {
      const y = AXIS + t.row * ROW - top;
      if (y + t.rows * ROW < AXIS || y > height) continue;
      if (y >= AXIS) { ctx.moveTo(0, y - 1.5); ctx.lineTo(gutter + width, y - 1.5); }
      const room = Math.floor((gutter - 6) / LABEL), short = [[/^rank (\d+) /, isAlone ? '' : 'r$1 '], [' in flight', ' flight'], [/GPU (\d+) stream /, 'G$1 s']];
      const label = short.reduce((l, [from, to]) => l.length > room ? l.replace(from, to) : l, t.label);
      const text = label.length > room ? label.slice(0, room - 1) + '\u2026' : label;
      ctx.fillText(text, 2, Math.max(y, AXIS) + 12);
    }
    ctx.stroke();
    ctx.fillStyle = inks.paper;
    ctx.fillRect(0, 0, gutter - 1, AXIS - 2);
    ctx.fillStyle = inks.muted;
    ctx.fillText(time(to - from), 2, 13);
  };
  const drawFrame = (row, start, dur, colour, line) => {
    const perPixel = (to - from) / width, y = AXIS + row * ROW - top;
    const x0 = Math.max(-3, (start - from) / perPixel), x1 = Math.min(width + 3, (start + dur - from) / perPixel);
    if (x1 < 0 || x0 > width || y < AXIS - ROW || y > height) return;
    ctx.strokeStyle = colour;
    ctx.lineWidth = line;
    ctx.strokeRect(gutter + x0, y, Math.max(x1 - x0, 2), ROW - 2);
    ctx.lineWidth = 1;
  };
  const drawHover = () => {
    if (!hover) return;
    drawFrame(hover.row, hover.start, hover.dur, inks.text, 1);
    const text = nameOf(hover) + '  ' + time(hover.dur), w = ctx.measureText(text).width + 12;
    const x = Math.min(hover.x + 12, gutter + width - w), y = hover.y + 30 > height ? hover.y - 28 : hover.y + 12;
    ctx.fillStyle = inks.text;
    ctx.fillRect(x, y, w, 20);
    ctx.fillStyle = inks.paper;
    ctx.fillText(text, x + 6, y + 14);
  };
  const draw = () => {
    waiting = false;
    const perPixel = (to - from) / width, level = fitLevel(perPixel), { first, last: end } = span(level, from, to);
    ctx.font = '11px ' + (getComputedStyle(stage).fontFamily || 'sans-serif');
    ctx.fillStyle = inks.paper;
    ctx.fillRect(0, 0, gutter + width, height);
    drawAxis();
    ctx.save();
    ctx.beginPath();
    ctx.rect(gutter, AXIS, width, height - AXIS);
    ctx.clip();
    const seen = new Set();
    for (let t = first; t <= end; t++)
      for (const tile of shown(level, t)) {
        if (seen.has(tile)) continue;
        seen.add(tile);
        for (let row = Math.floor(top / ROW); row < meta.rows && AXIS + row * ROW - top < height; row++) {
          const c = tile.rows.get(row);
          if (c) drawRow(c, AXIS + row * ROW - top, perPixel);
        }
      }
    if (pick) drawFrame(pick.row, pick.start, pick.dur, inks.text, 2.5);
    drawHover();
    ctx.restore();
    drawLabels();
    keepAddress();
  };

  /* ---- moving ---- */
  const show = (a, b) => {
    let length = Math.min(Math.max(b - a, LEAST), meta.total * 1.02 + LEAST);
    const middle = (a + b) / 2;
    from = Math.min(Math.max(middle - length / 2, -0.01 * meta.total - LEAST / 2), meta.total * 1.01 + LEAST / 2 - length);
    to = from + length;
    redraw();
  };
  const zoom = (factor, at) => show(at - (at - from) * factor, at + (to - at) * factor);
  const scroll = dy => { top = Math.min(Math.max(0, top + dy), Math.max(0, AXIS + meta.rows * ROW - height)); redraw(); };
  const timeAt = x => from + (x - gutter) / width * (to - from);
  const hit = (x, y) => {
    const row = Math.floor((y - AXIS + top) / ROW), at = timeAt(x), perPixel = (to - from) / width, level = fitLevel(perPixel);
    if (x < gutter || y < AXIS || row < 0 || row >= meta.rows) return null;
    for (const tile of shown(level, span(level, at, at).first)) {
      const c = tile.rows.get(row);
      if (!c) continue;
      for (let i = lowerBound(c, at - 2 * perPixel); i < c.n && c.start[i] <= at + perPixel; i++)
        if (c.start[i] + c.dur[i] >= at - perPixel)
          return { row, start: c.start[i], dur: c.dur[i], name: c.name[i], extra: c.extra[i], x, y };
    }
    return null;
  };

  /* ---- the address is the view ---- */
  let address = '', timer = 0;
  const keepAddress = () => {
    const text = '#from=' + Math.round(from) + '&to=' + Math.round(to) + (pick ? '&row=' + pick.row + '&at=' + pick.start : '') +
      (find.value ? '&find=' + encodeURIComponent(find.value) : '');
    if (text === address) return;
    address = text;
    clearTimeout(timer);
    timer = setTimeout(() => { try { history.replaceState(null, '', text); } catch (e) { /* some file: pages may not */ } }, 250);
  };
  const readAddress = async () => {
    const q = new URLSearchParams(location.hash.slice(1)), number = k => q.has(k) && q.get(k) !== '' ? Number(q.get(k)) : NaN;
    if (q.has('find')) { find.value = q.get('find'); search(); }
    const a = number('from'), b = number('to'), row = number('row'), at = number('at');
    if (Number.isFinite(a) && b > a) show(a, b);
    if (Number.isFinite(row) && Number.isFinite(at)) {
      const found = (await ranges(at, at, r => r === row)).find(r => r.start === at);
      if (found) choose(found);
    }
  };

  /* ---- choosing ---- */
  const element = (tag, text, parent) => { const e = document.createElement(tag); e.textContent = text; if (parent) parent.append(e); return e; };
  const fact = (list, name, value) => { const d = element('div', '', list); element('dt', name, d); element('dd', value, d); };
  const describe = async r => {
    const name = meta.names[r.name], track = rowTrack[r.row], box = document.createDocumentFragment();
    element('h2', name.name, box);
    const list = element('dl', '', box);
    list.className = 'facts';
    fact(list, 'Where', track.label + (track.node >= 0 ? ', node ' + track.node : '') + (track.thread ? ', thread ' + track.thread : ''));
    fact(list, 'Duration', time(r.dur) + ' (' + group(r.dur) + ' ns)');
    fact(list, 'Begins', group(r.start) + ' ns after the first range of the run');
    fact(list, 'Kind', words[meta.colours[name.colour]] + (name.category && name.category !== words[meta.colours[name.colour]] ? ', category ' + name.category : '') +
      (name.domain ? ', domain ' + name.domain : ''));
    if (r.extra) fact(list, meta.colours[name.colour] === 'step' ? 'Number' : 'Bytes or value', meta.colours[name.colour] === 'step' ? group(r.extra) : bytes(r.extra));
    fact(list, 'Beside its like', 'mean ' + time(name.total / name.count) + ' over ' + group(name.count));
    const inside = await ranges(r.start, r.start + r.dur, row => row === r.row + 1 && rowTrack[row] === track, true);
    const sums = new Map();
    let left = r.dur;
    for (const c of inside) {
      if (c.start < r.start || c.start + c.dur > r.start + r.dur) continue;
      const s = sums.get(c.name) || { count: 0, total: 0 };
      s.count += c.name < 0 ? c.extra : 1;
      s.total += c.dur;
      left -= c.dur;
      sums.set(c.name, s);
    }
    const table = element('table', '', box), head = element('tr', '', table.createTHead()), body = table.createTBody();
    element('caption', sums.size ? 'What is directly in it' : 'Nothing was recorded inside it', table);
    for (const text of ['Range', 'Count', 'Time', 'Share']) { const h = element('th', text, head); h.scope = 'col'; if (text !== 'Range') h.className = 'num'; }
    const line = (text, count, total) => {
      const tr = element('tr', '', body), h = element('th', text, tr);
      h.scope = 'row';
      for (const v of [count, time(total), (r.dur ? 100 * total / r.dur : 0).toFixed(1) + ' %']) element('td', v, tr).className = 'num';
    };
    for (const [n, s] of [...sums].sort((x, y) => y[1].total - x[1].total)) line(n < 0 ? 'short ranges, drawn as one' : meta.names[n].name, group(s.count), s.total);
    if (rowTrack[r.row].thread || sums.size) line('itself', '', Math.max(0, left));
    return box;
  };
  const choose = async r => {
    pick = r;
    redraw();
    if (!r) { chosen.replaceChildren(); return; }
    if (r.name < 0) {
      element('p', '', chosen);
      chosen.replaceChildren(element('p', group(r.extra) + (fitLevel((to - from) / width) < last() ? ' ranges shorter than a pixel: zoom in to tell them apart.'
        : ' ranges, each shorter than ' + time(meta.joined) + ', drawn as one: the timeline of so large a trace holds no more.')));
      return;
    }
    const box = await describe(r);
    if (pick === r) chosen.replaceChildren(box);
  };

  /* ---- finding ---- */
  const search = () => {
    const text = find.value.trim().toLowerCase();
    matches = text ? new Set(meta.names.map((n, i) => n.name.toLowerCase().includes(text) ? i : -1).filter(i => i >= 0)) : null;
    const count = matches ? [...matches].reduce((sum, i) => sum + meta.names[i].count, 0) : 0;
    say(matches ? group(count) + (count === 1 ? ' range' : ' ranges') : '');
    redraw();
  };
  const step = async forward => {
    if (!matches || !matches.size) { say('type a name first'); return; }
    const level = last(), n = levels[level].tiles, at = pick ? pick.start : forward ? from : to;
    const after = r => pick ? r.start - at || r.row - pick.row : r.start - at;
    for (let t = span(level, at, at).first; t >= 0 && t < n; t += forward ? 1 : -1) {
      const tile = await load(level, t).promise;
      let best = null;
      for (const [row, c] of tile.rows)
        for (let i = 0; i < c.n; i++) {
          if (!matches.has(c.name[i]) || c.start[i] < t * levels[level].tile) continue;
          const r = { row, start: c.start[i], dur: c.dur[i], name: c.name[i], extra: c.extra[i] }, d = after(r);
          if (forward ? d <= 0 : d >= 0) continue;
          if (!best || (forward ? (r.start - best.start || r.row - best.row) < 0 : (r.start - best.start || r.row - best.row) > 0)) best = r;
        }
      if (best) {
        reveal(best);
        return;
      }
    }
    say('no more');
  };

  /* ---- by keys: from the chosen range to those beside it ---- */
  const reveal = r => {
    const length = Math.max(to - from, r.dur * 1.2);
    if (r.start < from || r.start + r.dur > to) show(r.start + r.dur / 2 - length / 2, r.start + r.dur / 2 + length / 2);
    const y = r.row * ROW - top;
    if (y < 0 || y > height - AXIS - ROW) scroll(y - (height - AXIS) / 2);
    choose(r);
  };
  /* In one row and tile, the range with the least distance that is not negative; null: there is none. */
  const nearest = (tile, t, row, distance) => {
    const c = tile.rows.get(row);
    let best = null, least = Infinity;
    for (let i = 0; c && i < c.n; i++) {
      const d = distance(c.start[i]);
      if (d < 0 || d >= least || c.start[i] < t * levels[last()].tile) continue;
      least = d;
      best = { row, start: c.start[i], dur: c.dur[i], name: c.name[i], extra: c.extra[i] };
    }
    return best;
  };
  const beside = async way => {
    const level = last(), n = levels[level].tiles, at = pick.start;
    for (let t = span(level, at, at).first; t >= 0 && t < n; t += way) {
      const found = nearest(await load(level, t).promise, t, pick.row, start => start === at ? -1 : (start - at) * way);
      if (found) { reveal(found); return; }
    }
    say('no more on this row');
  };
  const onRows = async (middle, row, way) => {
    const t = span(last(), middle, middle).first, tile = await load(last(), t).promise;
    for (; row >= 0 && row < meta.rows; row += way) {
      const found = nearest(tile, t, row, start => Math.abs(start - middle));
      if (found) { reveal(found); return; }
    }
    say('no row with ranges here');
  };
  const aside = way => onRows(pick.start + pick.dur / 2, pick.row + way, way);
  /* The range in the middle of the first row that is shown, or the one next to the middle. */
  const begin = () => {
    const found = hit(gutter + width / 2, AXIS + ROW / 2);
    if (found) choose(found); else onRows((from + to) / 2, Math.floor(top / ROW), 1);
  };

  /* ---- export ---- */
  const us = ns => (ns / 1000).toFixed(3);
  const save = async () => {
    const a = from, b = to, found = await ranges(a, b, null, true), out = [];
    meta.tracks.forEach((t, i) => {
      out.push(JSON.stringify({ ph: 'M', name: 'process_name', pid: t.rank, args: { name: 'rank ' + t.rank } }));
      out.push(JSON.stringify({ ph: 'M', name: 'thread_name', pid: t.rank, tid: i, args: { name: t.label } }));
    });
    const tid = new Map(meta.tracks.map((t, i) => [t, i]));
    for (const r of found) {
      const name = r.name < 0 ? { name: nameOf(r), colour: colourOf(r.name) } : meta.names[r.name], track = rowTrack[r.row];
      out.push('{"ph":"X","name":' + JSON.stringify(name.name) + ',"cat":' + JSON.stringify(name.category || words[meta.colours[name.colour]]) +
        ',"ts":' + us(r.start) + ',"dur":' + us(r.dur) + ',"pid":' + track.rank + ',"tid":' + tid.get(track) + (r.extra ? ',"args":{"value":' + r.extra + '}' : '') + '}');
    }
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(['{"displayTimeUnit":"ns","traceEvents":[\n', out.join(',\n'), '\n]}\n'], { type: 'application/json' }));
    link.download = 'timeline-' + Math.round(a) + '-' + Math.round(b) + '.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(group(found.length) + ' ranges written');
  };

  /* ---- events ---- */
  const listen = () => {
    const middle = () => (from + to) / 2, doing = {
      in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), all: () => { top = 0; show(0, meta.total); },
      next: () => step(true), previous: () => step(false), export: save,
    };
    document.querySelector('#timeline .tools').addEventListener('click', e => { const f = doing[e.target.dataset.do]; if (f) f(); });
    find.addEventListener('input', search);
    find.addEventListener('keydown', e => { if (e.key === 'Enter') step(!e.shiftKey); });
    const place = e => { const box = canvas.getBoundingClientRect(); return { x: e.clientX - box.left, y: e.clientY - box.top }; };
    const fingers = new Map();
    let moved = 0;
    canvas.addEventListener('wheel', e => {
      e.preventDefault();
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        const d = (e.deltaX || e.deltaY) / width * (to - from);
        show(from + d, to + d);
      } else if (e.altKey) scroll(e.deltaY);
      else zoom(Math.pow(1.0015, e.deltaY), timeAt(place(e).x));
    }, { passive: false });
    canvas.addEventListener('pointerdown', e => { fingers.set(e.pointerId, place(e)); moved = 0; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointermove', e => {
      const at = place(e), before = fingers.get(e.pointerId);
      if (!before) { hover = hit(at.x, at.y); redraw(); return; }
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== e.pointerId)[1];
        const was = Math.abs(before.x - other.x), is = Math.abs(at.x - other.x);
        if (was > 4 && is > 4) zoom(was / is, timeAt((at.x + other.x) / 2));
      } else {
        const d = (before.x - at.x) / width * (to - from);
        show(from + d, to + d);
        scroll(before.y - at.y);
      }
      moved += Math.abs(at.x - before.x) + Math.abs(at.y - before.y);
      hover = null;
      fingers.set(e.pointerId, at);
    });
    const up = e => { if (fingers.delete(e.pointerId) && moved < 4 && e.type === 'pointerup') choose(hit(place(e).x, place(e).y)); };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => { hover = null; redraw(); });
    canvas.addEventListener('keydown', e => {
      const d = (to - from) * 0.15, keys = {
        ArrowLeft: () => show(from - d, to - d), ArrowRight: () => show(from + d, to + d), ArrowUp: () => scroll(-ROW * 3),
        ArrowDown: () => scroll(ROW * 3), '+': doing.in, '=': doing.in, '-': doing.out, Home: doing.all,
        Enter: begin, Escape: () => choose(null),
        n: () => pick ? beside(1) : begin(), p: () => pick ? beside(-1) : begin(),
        PageDown: () => pick ? aside(1) : begin(), PageUp: () => pick ? aside(-1) : begin(),
        a: () => show(from - d, to - d), d: () => show(from + d, to + d), w: doing.in, s: doing.out,
      };
      if (!keys[e.key] || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      say(''); /* so that a screen reader says the same words again */
      keys[e.key]();
      if (/^(Arrow(Left|Right)|[-+=adws]|Home)$/.test(e.key)) say(time(from) + ' to ' + time(to));
    });
    window.addEventListener('resize', resize);
    window.addEventListener('hashchange', readAddress);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { recolour(); redraw(); });
  };

  script('meta').then(data => {
    meta = data;
    levels = meta.levels;
    isAlone = new Set(meta.tracks.map(t => t.rank)).size === 1; /* a single rank need not be named everywhere */
    for (const t of meta.tracks) for (let i = 0; i < t.rows; i++) rowTrack[t.row + i] = t;
    document.getElementById('timeline').hidden = false;
    const used = new Set(meta.names.map(n => n.colour)), key = document.getElementById('key');
    recolour();
    meta.colours.forEach((c, i) => {
      if (!used.has(i)) return;
      const item = element('li', '', key), mark = element('span', '', item);
      mark.className = 'ink-' + c;
      item.append(words[c]);
    });
    const names = [...new Set(meta.names.map(n => n.name))].slice(0, 500), list = document.getElementById('found');
    for (const n of names) element('option', '', list).value = n;
    listen();
    from = 0;
    to = meta.total || 1;
    resize();
    return readAddress();
  }).catch(e => { const p = element('p', e.message); p.className = 'absent'; document.getElementById('view').append(p); });
})();
