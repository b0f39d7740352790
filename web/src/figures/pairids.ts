// SPDX-License-Identifier: MIT
// pairids: numbers pairs of small whole numbers in order of appearance.  A Map with keys made of two numbers took ten
// times as long.

const NONE = -1;

export class PairIds {
  n = 0;
  a: Int32Array; // by pair; -1 is allowed
  b: Int32Array;
  private slots: Int32Array; // places of pairs + 1, 0: free; a power of two, at most half full

  constructor(expected: number) {
    let size = 16;
    while (size < expected * 2) size *= 2;
    this.slots = new Int32Array(size);
    this.a = new Int32Array(size / 2);
    this.b = new Int32Array(size / 2);
  }

  // Where the pair is, or the free slot for it.
  private slotOf(a: number, b: number): number {
    const mask = this.slots.length - 1;
    let at = hash(a, b) & mask;
    for (let i; (i = this.slots[at]! - 1) !== NONE; at = (at + 1) & mask) if (this.a[i] === a && this.b[i] === b) break;
    return at;
  }

  // The pair's number; -1: there is none.
  find(a: number, b: number): number {
    return this.slots[this.slotOf(a, b)]! - 1;
  }

  // The pair's number, made when it is new.
  id(a: number, b: number): number {
    const at = this.slotOf(a, b);
    const known = this.slots[at]! - 1;
    if (known !== NONE) return known;
    if (this.n === this.a.length) {
      this.grow();
      return this.id(a, b);
    }
    this.a[this.n] = a;
    this.b[this.n] = b;
    this.slots[at] = ++this.n;
    return this.n - 1;
  }

  private grow(): void {
    const { a, b, n } = this;
    const bigger = new PairIds(n * 2);
    for (let i = 0; i < n; i++) bigger.id(a[i]!, b[i]!);
    this.slots = bigger.slots;
    this.a = bigger.a;
    this.b = bigger.b;
  }
}

function hash(a: number, b: number): number {
  let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return h ^ (h >>> 13);
}
