// SPDX-License-Identifier: MIT
// picture.js: what the scripts of the pictures have in common (flame.js, graph.js): it stands before each of them.
// Two pictures may stand in one page, so what it defines may be defined again.
var sondePicture = (function () {
  'use strict';

  function make(name, attributes, namespace) {
    const e = document.createElementNS(namespace || 'http://www.w3.org/2000/svg', name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    return e;
  }
  const makeHtml = (name, attributes) => make(name, attributes, 'http://www.w3.org/1999/xhtml');

  // What was typed as a regular expression, or, where it is none, as it stands.
  function expression(words) {
    const flags = /[A-Z]/.test(words) ? '' : 'i'; // capitals count once one is typed
    try {
      return { re: new RegExp(words, flags), isBad: false };
    } catch (e) {
      return { re: new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags), isBad: true };
    }
  }

  // The row of tools: what was found, the field of the search, and buttons.
  function makeTools() {
    const frame = make('foreignObject', { height: 36 });
    const bar = makeHtml('div', { class: 'tools', role: 'toolbar' });
    const found = makeHtml('span', { class: 'found', role: 'status' });
    const field = makeHtml('input', { type: 'search', placeholder: 'Search (regex)', 'aria-label': 'Search functions, a regular expression',
                                      spellcheck: 'false' });
    function button(words, title, act) {
      const b = makeHtml('button', { type: 'button', title });
      b.textContent = words;
      b.addEventListener('click', act);
      bar.appendChild(b);
      return b;
    }
    bar.append(found, field);
    frame.appendChild(bar);
    return { frame, found, field, button };
  }

  return { make, makeHtml, expression, makeTools };
})();
