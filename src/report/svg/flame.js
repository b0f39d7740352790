// SPDX-License-Identifier: MIT
// flame.js: what lets a flame graph be asked.  It stands inside the SVG file, after the
// boxes, and only moves what is there: a box is clicked and fills the width, a search
// marks boxes, the picture is turned over.  State is three things, kept in the part of
// the address behind "#", so that a link or a reload shows the same:
//   z  the box that fills the width (its place in the file)   s  the search   f  1: turned over
(function () {
  'use strict';

  const { make, makeHtml, expression, makeTools } = sondePicture;
  const svg = document.currentScript ? document.currentScript.parentNode : document.documentElement;
  const number = name => Number(svg.getAttribute('data-' + name));
  const pad = number('pad'), head = number('head'), foot = number('foot'), row = number('row');
  const unit = svg.getAttribute('data-unit');
  const toolsBelow = 940; // pixels: in a narrower window the tools get a row of their own
  const textPad = 4, leastPixels = 0.1;
  const gap = 0.6, gapFrom = 3; // as in flame_svg.c

  // ---- What is in the file

  function readBox(g, at) {
    const [from, total, self, idle, depth, nameLength] = g.getAttribute('data-v').split(' ').map(Number);
    const title = g.querySelector('title');
    const lines = title.textContent.split('\n');
    const label = lines[0].replace(/ \([^()]*\)$/, ''); // without "(30 samples, 12.00%)"
    let text = g.querySelector('text');

    if (!text) {
      text = make('text', { x: textPad, y: 14 });
      g.appendChild(text);
    }
    title.remove(); // the card below says the same, and at once
    g.setAttribute('aria-label', lines.join(', '));
    g.setAttribute('role', 'treeitem');
    g.setAttribute('aria-level', depth + 1);
    return { at, g, rect: g.querySelector('rect'), text, label, name: label.slice(0, nameLength),
             where: label.slice(nameLength + 2, -1), from, to: from + total, total, self, idle, depth,
             isFolded: g.classList.contains('o'), isFound: false, isShown: true, shown: null };
  }

  const frame = svg.querySelector('.boxes'), legend = svg.querySelector('.legend');
  const boxes = Array.from(frame.children).map(readBox); // copied first: the list is counted anew after each change
  const all = boxes[0];
  const state = { zoom: all, search: '', isTurned: false };
  let cursor = all; // the box that the keyboard is on
  let width = 0, height = 0, top = head, levels = 1;

  // Boxes stand depth first, so the parent of one is the last before it that is less deep.
  boxes.forEach((box, i) => {
    let at = i - 1;
    while (at >= 0 && boxes[at].depth >= box.depth) at = boxes[at].parent ? boxes[at].parent.at : -1;
    box.parent = at >= 0 ? boxes[at] : null;
  });

  // ---- Text

  // The letters have one width, and those of the far east two of it.
  const pen = makeHtml('canvas').getContext('2d');
  pen.font = '12px ' + getComputedStyle(all.text).fontFamily;
  const column = Math.max(pen.measureText('0123456789').width / 10, 1) || 6.7;
  const columnsOf = c => (c.codePointAt(0) < 0x1100 ? 1 : 2);

  function columnsIn(text) {
    if (/^[\x20-\u10ff]*$/.test(text)) return text.length;
    return Array.from(text).reduce((sum, c) => sum + columnsOf(c), 0);
  }

  function fit(box, pixels) {
    const room = Math.floor((pixels - 2 * textPad) / column);
    let left = room - 1, cut = '';

    if (room < 2) return '';
    if (columnsIn(box.label) <= room) return box.label;
    if (columnsIn(box.name) <= room) return box.name;
    for (const c of box.name) {
      left -= columnsOf(c);
      if (left < 0) break;
      cut += c;
    }
    return cut + '…';
  }

  function amount(n) {
    if (unit === 'ns') return n >= 1e9 ? (n / 1e9).toPrecision(3) + ' s' : (n / 1e6).toPrecision(3) + ' ms';
    if (unit === 'bytes') return (n / 1048576).toFixed(1) + ' MiB';
    return n.toLocaleString('en-US') + ' ' + unit;
  }
  const share = (part, whole) => (whole > 0 ? (100 * part / whole).toFixed(2) : '0.00') + ' %';

  // ---- Drawing

  function show(box, isShown) {
    if (box.isShown !== isShown) box.g.style.display = isShown ? '' : 'none';
    box.isShown = isShown;
  }

  function drawBox(box, scale) {
    const z = state.zoom, inner = width - 2 * pad;
    const isAbove = box.depth < z.depth && box.from <= z.from && box.to >= z.to;
    const pixels = isAbove ? inner : box.total * scale;
    const x = isAbove ? 0 : (box.from - z.from) * scale;
    const isInside = isAbove || (box.depth >= z.depth && box.from >= z.from && box.to <= z.to);

    show(box, isInside && (pixels >= leastPixels || box === all));
    if (!box.isShown) return;
    levels = Math.max(levels, box.depth + 1);
    box.x = x + pad;
    box.pixels = pixels;
    box.g.classList.toggle('above', isAbove);
    box.g.classList.toggle('m', box.isFound);
    box.rect.setAttribute('width', (pixels > gapFrom ? pixels - gap : pixels).toFixed(2));
    const text = fit(box, pixels);
    if (text !== box.shown) box.text.textContent = box.shown = text;
  }

  function place(box) {
    box.y = top + (state.isTurned ? levels - 1 - box.depth : box.depth) * row;
    box.g.setAttribute('transform', 'translate(' + box.x.toFixed(2) + ',' + box.y + ')');
  }

  function draw() {
    width = Math.max(svg.clientWidth || window.innerWidth, 320); // of the root: without a scroll bar
    const isNarrow = width < toolsBelow;

    top = head + (isNarrow ? 36 : 0);
    levels = 1;
    const scale = (width - 2 * pad) / Math.max(state.zoom.total, 1);
    for (const box of boxes) drawBox(box, scale);
    for (const box of boxes) if (box.isShown) place(box);
    height = top + levels * row + foot;
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
    legend.setAttribute('transform', 'translate(' + pad + ',' + (height - foot + 16) + ')');
    drawTools(isNarrow);
    if (!cursor.isShown) cursor = state.zoom;
    for (const box of boxes) if (box.g.hasAttribute('tabindex')) box.g.removeAttribute('tabindex');
    cursor.g.setAttribute('tabindex', 0);
  }

  // ---- Search

  // A box inside one that was found already counts with that one.
  function search() {
    const wanted = state.search ? expression(state.search) : null;
    let matched = 0, until = -1;

    for (const box of boxes) {
      box.isFound = !!wanted && box !== all && !box.isFolded && wanted.re.test(box.label);
      if (!box.isFound || box.from < until) continue;
      matched += box.total;
      until = box.to;
    }
    field.classList.toggle('bad', !!wanted && wanted.isBad);
    field.title = wanted && wanted.isBad ? 'no regular expression: searched as plain text' : '';
    found.textContent = wanted ? 'matched ' + share(matched, all.total) : '';
  }

  function nextFound(step) {
    const those = boxes.filter(b => b.isFound && b.isShown);
    const after = those.findIndex(b => b.at >= cursor.at + (step > 0 ? 1 : 0));
    const at = after < 0 ? (step > 0 ? 0 : those.length - 1) : after + (step > 0 ? 0 : -1);

    if (those.length) focus(those[(at + those.length) % those.length]);
  }

  // ---- State, and the address that keeps it

  function address() {
    const parts = [];
    if (state.zoom !== all) parts.push('z=' + state.zoom.at);
    if (state.search) parts.push('s=' + encodeURIComponent(state.search));
    if (state.isTurned) parts.push('f=1');
    return '#' + parts.join('&');
  }

  let written = location.hash;
  function change(what, isNew) {
    Object.assign(state, what);
    search();
    draw();
    const now = address();
    if (now === written || (now === '#' && !written)) return;
    written = now === '#' ? '' : now;
    if (isNew) location.hash = now; // "back" in the browser goes back
    else location.replace(now);
  }

  function readAddress() {
    const words = new Map(location.hash.slice(1).split('&').map(part => {
      const at = part.indexOf('=');
      return [part.slice(0, at), part.slice(at + 1)];
    }));
    let said = words.get('s') || '';
    try { said = decodeURIComponent(said); } catch (e) { /* as it stands */ }
    if (!location.hash) said = svg.getAttribute('data-search') || '';
    written = location.hash;
    field.value = said;
    change({ zoom: boxes[Number(words.get('z')) || 0] || all, search: said, isTurned: words.get('f') === '1' });
  }

  const zoom = box => { cursor = box; change({ zoom: box }, true); };

  // ---- Tools

  const { frame: toolsFrame, found, field, button } = makeTools();
  const reset = button('Reset zoom', 'show everything (Escape)', () => zoom(all));
  const turn = button('Flip', 'first call at the top or at the bottom (f)', () => change({ isTurned: !state.isTurned }));
  button('?', 'keys (?)', () => help());
  svg.appendChild(toolsFrame);

  function drawTools(isNarrow) {
    const room = isNarrow ? width - 2 * pad : 520;
    toolsFrame.setAttribute('x', width - pad - room);
    toolsFrame.setAttribute('y', isNarrow ? head - 2 : 8);
    toolsFrame.setAttribute('width', room);
    reset.disabled = state.zoom === all;
    turn.setAttribute('aria-pressed', state.isTurned);
    for (const line of svg.querySelectorAll('.title, .subtitle')) fitLine(line, isNarrow);
  }

  // The lines at the top give way to the tools; the whole line shows where it is rested on.
  function fitLine(line, isNarrow) {
    if (line.whole === undefined) line.whole = line.textContent;
    pen.font = getComputedStyle(line).font;
    const room = width - 2 * pad - (isNarrow || !line.classList.contains('title') ? 0 : 530);
    let text = line.whole;
    while (text.length > 8 && pen.measureText(text + '…').width > room) text = text.slice(0, -4);
    line.textContent = text === line.whole ? text : text + '…';
  }

  // ---- The card: what is known of a box

  const cardFrame = make('foreignObject', { x: 0, y: 0, width: 1, height: 1, style: 'overflow: visible; pointer-events: none' });
  const card = makeHtml('div', { class: 'card', role: 'tooltip' });
  let isHelp = false;
  card.style.display = 'none';
  cardFrame.appendChild(card);
  svg.appendChild(cardFrame);

  function line(table, words, n) {
    const tr = makeHtml('tr');
    const cells = [words, amount(n), share(n, all.total)];
    if (state.zoom !== all) cells.push(share(n, state.zoom.total) + ' of view');
    for (const text of cells) tr.appendChild(makeHtml('td')).textContent = text;
    table.appendChild(tr);
  }

  function fillCard(box) {
    const name = makeHtml('b'), where = makeHtml('div', { class: 'where' }), table = makeHtml('table');

    name.textContent = box.name;
    where.textContent = box.where;
    line(table, 'total', box.total);
    if (!box.isFolded) line(table, 'self', box.self);
    if (box.idle) line(table, 'idle', box.idle);
    card.replaceChildren(name, where, table);
  }

  // Beside the point, inside the window.
  function putCard(x, y) {
    card.style.display = '';
    card.style.width = 'max-content';
    const left = Math.max(Math.min(x + 14, width - card.offsetWidth - pad), 4);
    const below = y + 18, bottom = window.scrollY + window.innerHeight;
    const up = y - card.offsetHeight - 12;
    card.style.left = left + 'px';
    card.style.top = (below + card.offsetHeight > bottom && up > window.scrollY ? up : below) + 'px';
  }

  function hideCard() {
    card.style.display = 'none';
    isHelp = false;
  }

  function help() {
    if (isHelp) return hideCard();
    const keys = [['Tab', 'into the graph and out'], ['← ↑ ↓ →', 'from box to box'], ['Enter', 'zoom to the box'],
                  ['Escape', 'clear the search, then the zoom'], ['/  Ctrl+F', 'search'], ['n  N', 'next, previous found'],
                  ['f', 'flip'], ['Home', 'to the first box']];
    const table = makeHtml('table');
    for (const [key, words] of keys) {
      const tr = table.appendChild(makeHtml('tr'));
      tr.appendChild(makeHtml('td')).appendChild(makeHtml('kbd')).textContent = key;
      const td = tr.appendChild(makeHtml('td'));
      td.textContent = words;
      td.style.textAlign = 'left';
    }
    card.replaceChildren(table);
    putCard(width - 300, top - 10);
    isHelp = true;
  }

  // ---- Pointer

  const boxOfGroup = new Map(boxes.map(box => [box.g, box]));
  const boxOf = e => {
    const g = e.target.closest ? e.target.closest('.boxes > g') : null;
    return g ? boxOfGroup.get(g) : null;
  };
  frame.addEventListener('click', e => { const box = boxOf(e); if (box && !box.isFolded) zoom(box); });
  frame.addEventListener('pointermove', e => {
    const box = boxOf(e);
    if (!box) return;
    isHelp = false;
    fillCard(box);
    putCard(e.pageX, e.pageY);
  });
  frame.addEventListener('pointerleave', hideCard);

  // ---- Keyboard

  function focus(box) {
    cursor.g.removeAttribute('tabindex');
    cursor = box;
    box.g.setAttribute('tabindex', 0);
    box.g.focus({ preventScroll: false });
    fillCard(box);
    putCard(box.x + Math.min(box.pixels / 2, 120), box.y + row - 8);
  }
  const child = box => boxes.find(b => b.parent === box && b.isShown);
  const beside = (box, step) => {
    const level = boxes.filter(b => b.depth === box.depth && b.isShown);
    return level[level.indexOf(box) + step];
  };

  function move(key) {
    const inwards = state.isTurned ? 'ArrowUp' : 'ArrowDown';
    let to = null;
    if (key === 'ArrowLeft') to = beside(cursor, -1);
    else if (key === 'ArrowRight') to = beside(cursor, 1);
    else to = key === inwards ? child(cursor) : cursor.parent;
    focus(to || cursor);
  }

  const keys = {
    '/': () => field.focus(),
    f: () => change({ isTurned: !state.isTurned }),
    n: () => nextFound(1),
    N: () => nextFound(-1),
    '?': help,
    Home: () => focus(all),
    Enter: () => { if (!cursor.isFolded) zoom(cursor); focus(cursor); },
    Escape: () => {
      if (isHelp) hideCard();
      else if (state.search) { field.value = ''; change({ search: '' }); }
      else { zoom(all); hideCard(); }
    },
    ArrowUp: move, ArrowDown: move, ArrowLeft: move, ArrowRight: move,
  };
  keys[' '] = keys.Enter;

  document.addEventListener('keydown', e => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'f') {
      if (document.activeElement === field) return; // asked twice: the browser's own search
      e.preventDefault();
      field.focus();
      field.select();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (document.activeElement === field) {
      if (e.key === 'Enter') { e.preventDefault(); nextFound(e.shiftKey ? -1 : 1); }
      if (e.key === 'Escape') { keys.Escape(); if (!state.search) cursor.g.focus(); }
      return;
    }
    const isButton = document.activeElement && document.activeElement.localName === 'button';
    if (!keys[e.key] || (isButton && (e.key === 'Enter' || e.key === ' '))) return;
    e.preventDefault();
    keys[e.key](e.key);
  });
  field.addEventListener('input', () => change({ search: field.value }));
  frame.addEventListener('focusin', e => { const box = boxOf(e); if (box) cursor = box; });
  frame.addEventListener('focusout', () => { if (!isHelp) hideCard(); });
  window.addEventListener('resize', draw);
  window.addEventListener('hashchange', () => { if (location.hash !== written) readAddress(); });

  frame.setAttribute('role', 'tree');
  frame.setAttribute('aria-label', 'flame graph');
  readAddress();
})();
