// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Follower, type Clock } from './follower';

// Time passes only when a test says so, and while views work: workMs each time.
class Hand implements Clock {
  private at = 0;
  private next = 0;
  private waiting: { id: number; at: number; run: () => void }[] = [];
  workMs = 0;
  now(): number {
    return this.at;
  }
  later(run: () => void, ms: number): number {
    this.waiting.push({ id: ++this.next, at: this.at + ms, run });
    return this.next;
  }
  cancel(id: number): void {
    this.waiting = this.waiting.filter((w) => w.id !== id);
  }
  painted(run: () => void): void {
    this.at += this.workMs;
    run();
  }
  pass(ms: number): void {
    const end = this.at + ms;
    for (;;) {
      const due = this.waiting.filter((w) => w.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.cancel(due.id);
      this.at = Math.max(this.at, due.at);
      due.run();
    }
    this.at = Math.max(this.at, end);
  }
}

function followed(workMs: number, use: (follower: Follower, hand: Hand) => void): [number, number][] {
  const seen: [number, number][] = [], hand = new Hand();
  hand.workMs = workMs;
  use(new Follower((from, to) => seen.push([from, to]), hand), hand);
  return seen;
}

test('a quick drag moves no view before its end', () => {
  assert.deepEqual(followed(10, (f, hand) => {
    for (let to = 1; to <= 5; to++) f.aim(0, to), hand.pass(20);
    f.stop();
    hand.pass(1000);
  }), []);
});

test('views catch up where the pointer rests', () => {
  assert.deepEqual(followed(10, (f, hand) => {
    for (let to = 1; to <= 10; to++) f.aim(0, to), hand.pass(20);
    hand.pass(1000);
  }), [[0, 6], [0, 10]]);
});

test('what takes long follows a sixth of the time', () => {
  const dear = followed(200, (f, hand) => {
    for (let to = 1; hand.now() < 12000; to++) f.aim(0, to), hand.pass(16);
  });
  assert.equal(dear.length, 10);
});
