// SPDX-License-Identifier: MIT
// findings: what the capture says in sentences, each of which leads to the view that shows it.
import type { Finding } from './types';
import { act } from './store';
import { shown } from './text';

// The sentence's first figure with its unit, else its first number: what the eye should find first.
const FIGURE = /(?<![\w:.,])\d[\d,.]*\s?(?:%|[num]?s\b|min\b|h\b|[KMGT]?i?B\b|times\b)/;
const NUMBER = /(?<![\w:.,])\d[\d,.]*\b(?!:)/;

function Sentence({ text }: { text: string }) {
  const all = shown(text), found = FIGURE.exec(all) ?? NUMBER.exec(all);
  if (!found) return <span class="finding-text">{all}</span>;
  return (
    <span class="finding-text">
      {all.slice(0, found.index)}
      <b>{found[0]}</b>
      {all.slice(found.index + found[0].length)}
    </span>
  );
}

const ENOUGH = 300; // pixels of a view that show what was followed

// The view may be below the window's end: then the page scrolls to it, with the controls above.
function follow(f: Finding): void {
  act.follow(f);
  const panel = document.getElementById('panel'), controls = document.querySelector('.controls');
  if (panel && window.innerHeight - panel.getBoundingClientRect().top < ENOUGH) controls?.scrollIntoView();
}

const leads = (f: Finding) => f.view !== null || f.selection !== null;

export function Findings({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <section class="findings" aria-label="Findings">
      <ul>
        {findings.map((f, at) => (
          <li key={at}>
            {leads(f) ? (
              <button class="finding" type="button" onClick={() => follow(f)}>
                <Sentence text={f.text} />
                <span class="finding-go" aria-hidden="true">→</span>
              </button>
            ) : (
              <p class="finding"><Sentence text={f.text} /></p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
