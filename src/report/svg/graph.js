// SPDX-License-Identifier: MIT
// graph.js: what lets a call graph be asked.  It stands inside the SVG file, after boxes and lines, and only moves and
// marks what is there: the picture is dragged and zoomed, a function is clicked and stands out with its callers and
// callees, a search marks functions.  State that a link or a reload keeps stands behind "#" in the address:
//   n  the function that was clicked (its place in the file)   s  the search
(function () {
  'use strict';

  const { make, makeHtml, expression, makeTools } = sondePicture;
  const svg = document.currentScript ? document.currentScript.parentNode : document.documentElement;
  const number = name => Number(svg.getAttribute('data-' + name));
  const pad = number('pad'), head = number('head'), wide = number('width'), high = number('height');
  const leastScale = 0.02, mostScale = 8, readable = 0.45; // below `readable` no label can be read
  const toolsWidth = 560;

  // ---- What is in the file

  function takeTitle(g) {
    const title = g.querySelector('title');
    const lines = title.textContent.split('\n');
    title.remove(); // the card says the same, and at once
    g.setAttribute('aria-label', lines.join(', '));
    return lines;
  }

  const graph = svg.querySelector('.graph');
  const nodes = Array.from(graph.querySelector('.nodes').children).map((g, at) => {
    const [x, y] = g.getAttribute('transform').match(/-?[\d.]+/g).map(Number);
    const rect = g.querySelector('rect');
    return { at, g, x, y, lines: takeTitle(g), edges: [], isFound: false,
             width: Number(rect.getAttribute('width')), height: Number(rect.getAttribute('height')) };
  });
  const edges = Array.from(graph.querySelector('.edges').children).map(g => {
    const [from, to] = g.getAttribute('data-v').split(' ').map(Number);
    const edge = { g, from: nodes[from], to: nodes[to], lines: takeTitle(g) };
    edge.from.edges.push(edge);
    if (to !== from) edge.to.edges.push(edge);
    return edge;
  });
  const nodeOf = new Map(nodes.map(n => [n.g, n])), edgeOf = new Map(edges.map(e => [e.g, e]));

  const state = { chosen: null, search: '' };
  const view = { x: pad, y: head, scale: 1 }; // where the graph's corner is, in pixels of the window
  let width = 0, height = 0, isHidden = false;
  let cursor = nodes[0] || null; // the function that the keyboard is on

  // ---- Moving

  const clamp = (v, least, most) => Math.min(Math.max(v, least), most);

  function place() {
    // At least a corner of it stays in sight.
    view.x = clamp(view.x, 80 - wide * view.scale, width - 80);
    view.y = clamp(view.y, head + 60 - high * view.scale, height - 60);
    graph.setAttribute('transform', 'translate(' + view.x.toFixed(2) + ',' + view.y.toFixed(2) + ') scale(' + view.scale.toFixed(4) + ')');
  }

  function zoom(factor, x, y) {
    const scale = clamp(view.scale * factor, leastScale, mostScale);
    view.x = x - (x - view.x) * scale / view.scale;
    view.y = y - (y - view.y) * scale / view.scale;
    view.scale = scale;
    place();
  }

  function fit() {
    view.scale = clamp(Math.min((width - 2 * pad) / wide, (height - head - pad) / high), leastScale, 1);
    view.x = (width - wide * view.scale) / 2;
    view.y = head;
    place();
  }

  function show(node, scale) {
    view.scale = Math.max(view.scale, scale || readable);
    view.x = width / 2 - node.x * view.scale;
    view.y = head + (height - head) / 3 - node.y * view.scale;
    place();
  }

  // All of it where its labels can be read so; else the function with most of the time.
  function begin() {
    fit();
    if (view.scale >= readable || !nodes.length) return;
    const share = n => parseFloat((n.lines.find(l => l.startsWith('total ')) || '').slice(6)) || 0;
    const first = nodes.reduce((a, b) => (share(b) > share(a) || (share(b) === share(a) && b.y < a.y) ? b : a));
    show(first, 0.7);
    view.y = Math.min(head + pad, head + pad + (height - head) / 3 - first.y * view.scale);
    place();
  }

  function resize() {
    isHidden = !window.innerWidth;
    width = Math.max(window.innerWidth, 320);
    height = Math.max(window.innerHeight, 240);
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
    const isNarrow = width < 900;
    toolsFrame.setAttribute('x', isNarrow ? pad : width - pad - toolsWidth);
    toolsFrame.setAttribute('y', isNarrow ? head - 14 : 8);
    toolsFrame.setAttribute('width', isNarrow ? width - 2 * pad : toolsWidth);
    for (const line of svg.querySelectorAll('.head .title')) fitLine(line, isNarrow ? width - 2 * pad : width - toolsWidth - 3 * pad);
  }

  function fitLine(line, room) {
    if (line.whole === undefined) line.whole = line.textContent;
    line.textContent = line.whole;
    for (let n = line.whole.length; n > 8 && line.getComputedTextLength() > room; n -= 4) line.textContent = line.whole.slice(0, n) + '…';
  }

  // ---- Marks

  function mark() {
    const wanted = state.search ? expression(state.search) : null, chosen = state.chosen;
    const near = new Set(chosen ? chosen.edges.flatMap(e => [e.from, e.to]).concat(chosen) : []);

    for (const node of nodes) {
      const file = (node.lines[1] || '').startsWith('total ') ? '' : node.lines[1]; // what is built in has none
      node.isFound = !!wanted && wanted.re.test(node.lines[0] + '\n' + (file || ''));
      node.g.classList.toggle('m', node.isFound);
      node.g.classList.toggle('near', near.has(node));
      node.g.classList.toggle('chosen', node === chosen);
    }
    for (const edge of edges) edge.g.classList.toggle('near', edge.from === chosen || edge.to === chosen);
    svg.classList.toggle('is-asked', !!chosen);
    field.classList.toggle('bad', !!wanted && wanted.isBad);
    found.textContent = wanted ? nodes.filter(n => n.isFound).length + ' found' : '';
  }

  let written = location.hash;
  function change(what) {
    Object.assign(state, what);
    mark();
    const parts = [];
    if (state.chosen) parts.push('n=' + state.chosen.at);
    if (state.search) parts.push('s=' + encodeURIComponent(state.search));
    const now = parts.length ? '#' + parts.join('&') : '';
    if (now === written) return;
    written = now;
    try { history.replaceState(null, '', now || '#'); } catch (e) { /* a page inside a page has no address */ }
  }

  function readAddress() {
    const words = new Map(location.hash.slice(1).split('&').map(part => part.split('=')));
    let said = words.get('s') || '';
    try { said = decodeURIComponent(said); } catch (e) { /* as it stands */ }
    if (!location.hash) said = svg.getAttribute('data-search') || '';
    written = location.hash;
    field.value = said;
    change({ chosen: words.has('n') && nodes[Number(words.get('n'))] || null, search: said });
    if (state.chosen) show(state.chosen);
    else if (state.search) next(1, true);
  }

  function next(step, isFirst) {
    const those = nodes.filter(n => n.isFound);
    const after = those.findIndex(n => n.at >= (cursor && !isFirst ? cursor.at : 0) + (step > 0 && !isFirst ? 1 : 0));
    const at = after < 0 ? (step > 0 ? 0 : those.length - 1) : after + (step > 0 ? 0 : -1);
    if (those.length) focus(those[(at + those.length) % those.length], isFirst);
  }

  // ---- Tools

  const { frame: toolsFrame, found, field, button } = makeTools();
  button('+', 'larger (+)', () => zoom(1.4, width / 2, height / 2));
  button('−', 'smaller (-)', () => zoom(1 / 1.4, width / 2, height / 2));
  button('Fit', 'show all of it (0)', fit);
  button('?', 'keys (?)', () => help());
  svg.appendChild(toolsFrame);

  // ---- The card

  const cardFrame = make('foreignObject', { x: 0, y: 0, width: 1, height: 1, style: 'overflow: visible; pointer-events: none' });
  const card = makeHtml('div', { class: 'card', role: 'tooltip' });
  let isHelp = false;
  card.style.display = 'none';
  cardFrame.appendChild(card);
  svg.appendChild(cardFrame);

  function put(name, className, text) {
    const e = makeHtml(name, className ? { class: className } : {});
    e.textContent = text;
    card.appendChild(e);
  }

  // Its callers, or callees, the heaviest first.
  function putNear(words, those, end) {
    const share = e => parseFloat(e.lines[1]);
    const shown = those.sort((a, b) => share(b) - share(a)).slice(0, 6).map(e => '  ' + e.lines.slice(1).join('  ') + '  ' + end(e).lines[0]);
    if (those.length > 6) shown.push('  and ' + (those.length - 6) + ' more');
    if (shown.length) put('div', 'near', words + '\n' + shown.join('\n'));
  }

  function fillCard(thing) {
    card.replaceChildren();
    put('b', '', thing.lines[0]);
    for (const line of thing.lines.slice(1)) put('div', line.includes('/') ? 'where' : '', line);
    if (!thing.edges) return;
    putNear('called by', thing.edges.filter(e => e.to === thing && e.from !== thing), e => e.from);
    putNear('calls', thing.edges.filter(e => e.from === thing && e.to !== thing), e => e.to);
  }

  function putCard(x, y) {
    card.style.display = '';
    card.style.width = 'max-content';
    card.style.left = clamp(x + 14, 4, Math.max(width - card.offsetWidth - pad, 4)) + 'px';
    card.style.top = (y + 18 + card.offsetHeight > height ? Math.max(y - card.offsetHeight - 12, 4) : y + 18) + 'px';
  }

  function hideCard() {
    card.style.display = 'none';
    isHelp = false;
  }

  function help() {
    if (isHelp) return hideCard();
    const keys = [['drag, wheel', 'move, zoom'], ['+  −  0', 'larger, smaller, all of it'], ['← ↑ ↓ →', 'move'], ['Tab', 'from function to function'],
                  ['click, Enter', 'the function, its callers and callees'], ['Escape', 'clear that, then the search'],
                  ['/  Ctrl+F', 'search'], ['n  N', 'next, previous found']];
    const table = makeHtml('table');
    for (const [key, words] of keys) {
      const tr = table.appendChild(makeHtml('tr'));
      tr.appendChild(makeHtml('td')).appendChild(makeHtml('kbd')).textContent = key;
      tr.appendChild(makeHtml('td')).textContent = words;
    }
    card.replaceChildren(table);
    putCard(width - 400, head - 10);
    isHelp = true;
  }

  // ---- Pointer

  const under = (e, map, where) => {
    const g = e.target.closest ? e.target.closest(where) : null;
    return g ? map.get(g) : null;
  };
  let drag = null; // where the button went down, and where the picture was then
  svg.addEventListener('pointerdown', e => {
    if (e.button !== 0 || toolsFrame.contains(e.target)) return;
    drag = { x: e.clientX, y: e.clientY, viewX: view.x, viewY: view.y, isFar: false };
  });
  window.addEventListener('pointermove', e => {
    if (drag) {
      if (!drag.isFar && Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < 4) return;
      drag.isFar = true;
      svg.classList.add('is-moving');
      hideCard();
      view.x = drag.viewX + e.clientX - drag.x;
      view.y = drag.viewY + e.clientY - drag.y;
      return place();
    }
    const thing = under(e, nodeOf, '.nodes > g') || under(e, edgeOf, '.edges > g');
    if (!thing) return isHelp ? undefined : hideCard();
    isHelp = false;
    fillCard(thing);
    putCard(e.clientX, e.clientY);
  });
  window.addEventListener('pointerup', e => {
    const was = drag;
    drag = null;
    svg.classList.remove('is-moving');
    if (!was || was.isFar) return;
    const node = under(e, nodeOf, '.nodes > g');
    if (node) cursor = node;
    change({ chosen: node && node !== state.chosen ? node : null });
  });
  svg.addEventListener('wheel', e => {
    e.preventDefault();
    zoom(Math.pow(1.0018, -e.deltaY * (e.deltaMode === 1 ? 16 : 1)), e.clientX, e.clientY);
  }, { passive: false });

  // ---- Keyboard

  function focus(node, isQuiet) {
    cursor = node;
    show(node);
    if (isQuiet) return;
    if (document.activeElement !== field) node.g.focus({ preventScroll: true });
    fillCard(node);
    putCard(width / 2, view.y + (node.y + node.height / 2) * view.scale);
  }
  const move = (x, y) => () => { view.x += x; view.y += y; place(); };
  const keys = {
    '/': () => field.focus(), n: () => next(1), N: () => next(-1), '?': help, 0: fit,
    '+': () => zoom(1.4, width / 2, height / 2), '-': () => zoom(1 / 1.4, width / 2, height / 2),
    ArrowLeft: move(80, 0), ArrowRight: move(-80, 0), ArrowUp: move(0, 80), ArrowDown: move(0, -80),
    Enter: () => change({ chosen: cursor === state.chosen ? null : cursor }),
    Escape: () => {
      if (isHelp) hideCard();
      else if (state.chosen) change({ chosen: null });
      else { field.value = ''; change({ search: '' }); hideCard(); }
    },
  };
  keys['='] = keys['+'];

  document.addEventListener('keydown', e => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'f' && document.activeElement !== field) {
      e.preventDefault(); // asked twice: the browser's own search
      field.focus();
      field.select();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (document.activeElement === field) {
      if (e.key === 'Enter') { e.preventDefault(); next(e.shiftKey ? -1 : 1); }
      if (e.key === 'Escape') { keys.Escape(); if (!state.search) field.blur(); }
      return;
    }
    const isButton = document.activeElement && document.activeElement.localName === 'button';
    if (!Object.prototype.hasOwnProperty.call(keys, e.key) || (isButton && e.key === 'Enter')) return;
    e.preventDefault();
    keys[e.key]();
  });
  field.addEventListener('input', () => change({ search: field.value }));
  for (const node of nodes) {
    node.g.setAttribute('tabindex', 0);
    node.g.setAttribute('role', 'button');
    node.g.addEventListener('focus', () => { cursor = node; });
  }
  window.addEventListener('resize', () => { // a page that was hidden had no size to fit into
    const wasHidden = isHidden;
    resize();
    if (wasHidden) begin();
    else place();
  });
  window.addEventListener('hashchange', () => { if (location.hash !== written) readAddress(); });

  resize();
  begin();
  readAddress();
})();
