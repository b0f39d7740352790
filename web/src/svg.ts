// SPDX-License-Identifier: MIT
// svg: what is drawn on the page as SVG text, for whoever saves it.
//
// The drawing that is shown offers a function that makes its text; the buttons `Save as SVG` and `Save as PNG` call it when
// they are pressed, so that nothing is written before someone asks.  Drawings whose colours and fonts stand in attributes
// are serialised as they are; the flame graph, which is a canvas, writes its boxes with `SvgText`.

export type Drawing = () => string | null; // null: nothing to save

const FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
let drawings: Drawing[] = [];

// Makes it the drawing that is saved until the returned function is called.
export function offer(svg: Drawing): () => void {
  drawings.push(svg);
  return () => {
    drawings = drawings.filter(d => d !== svg);
  };
}

// The text of what is shown now, or null.
export function offered(): string | null {
  const last = drawings[drawings.length - 1];
  return last ? last() : null;
}
export function isOffered(): boolean {
  return drawings.length > 0;
}

// XML 1.0 knows no other control characters than tab and line ends, and no lone surrogates.
export function escapeXml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

// Writes shapes one after the other; numbers with two decimals, which is a hundredth of a pixel.
export class SvgText {
  private parts: string[] = [];
  constructor(
    readonly width: number,
    readonly height: number,
    title: string,
    ground: string,
  ) {
    const size = `width="${digits(width)}" height="${digits(height)}" viewBox="0 0 ${digits(width)} ${digits(height)}"`;
    this.parts.push(`<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family='${FONT}'>\n`);
    this.parts.push(`<title>${escapeXml(title)}</title>\n`);
    this.element('rect', { width, height, fill: ground });
  }
  element(name: string, attributes: Record<string, string | number | undefined>, text?: string): void {
    const words = Object.entries(attributes)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${key}="${typeof value === 'number' ? digits(value) : escapeXml(String(value))}"`);
    this.parts.push(`<${name}${words.join('')}${text === undefined ? '/>' : `>${escapeXml(text)}</${name}>`}\n`);
  }
  open(name: string): void {
    this.parts.push(`<${name}>`);
  }
  close(name: string): void {
    this.parts.push(`</${name}>\n`);
  }
  toString(): string {
    return this.parts.join('') + '</svg>\n';
  }
}

function digits(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value * 100) / 100) : '0';
}

// Text of an <svg> of the page, on a ground of its own, as it is no longer on the page's.
export function svgOfElement(element: SVGSVGElement | null, ground: string, change: (copy: SVGSVGElement) => void = () => {}): string | null {
  if (!element) return null;
  const copy = element.cloneNode(true) as SVGSVGElement;
  change(copy);
  const box = copy.viewBox.baseVal;
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [key, value] of Object.entries({ x: box.x, y: box.y, width: box.width, height: box.height, fill: ground }))
    back.setAttribute(key, String(value));
  copy.prepend(back);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(box.width));
  copy.setAttribute('height', String(box.height));
  copy.setAttribute('font-family', FONT);
  for (const name of ['tabindex', 'role', 'style', 'class', 'id', 'aria-label', 'aria-selected', 'aria-activedescendant', 'data-moves'])
    [copy, ...copy.querySelectorAll(`[${name}]`)].forEach(e => e.removeAttribute(name));
  return new XMLSerializer().serializeToString(copy);
}

// Puts a title above a copy whose title stands outside of it on the page.
export function addTitle(copy: SVGSVGElement, title: string, ink: string): void {
  const { x, y, width, height } = copy.viewBox.baseVal, room = 34, text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
  copy.setAttribute('viewBox', `${x} ${y - room} ${width} ${height + room}`);
  for (const [key, value] of Object.entries({ x: x + 12, y: y - 12, 'font-size': 15, 'font-weight': 650, fill: ink })) text.setAttribute(key, String(value));
  text.textContent = title;
  copy.prepend(text);
}
