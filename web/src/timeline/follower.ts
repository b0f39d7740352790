// SPDX-License-Identifier: MIT
// follower: lets the views follow a drag over the timeline without making it stutter.
//
// What the views cost is measured each time: they follow soon where they are cheap, rarely where they are not, and always
// take only a small part of the time.  Where the pointer rests they catch up.

export interface Clock {
  now(): number; // ms
  later(run: () => void, ms: number): number;
  cancel(id: number): void;
  painted(run: () => void): void; // once what was just changed is on the screen
}

const SOONEST_MS = 120; // a quick drag is over before
const PART = 5; // how much longer the views rest than they work

const browser: Clock = {
  now: () => performance.now(),
  later: (run, ms) => Number(setTimeout(run, ms)),
  cancel: (id) => clearTimeout(id),
  painted: (run) => void requestAnimationFrame(() => setTimeout(run)),
};

export class Follower {
  private ends: [number, number] | null = null; // that the views do not show yet
  private timer: number | null = null; // also while they work
  private pause = SOONEST_MS;

  constructor(private readonly show: (from: number, to: number) => void, private readonly clock = browser) {}

  aim(from: number, to: number): void {
    this.ends = [from, to];
    this.timer ??= this.clock.later(this.follow, this.pause);
  }

  // What was aimed at and is not shown yet never is.
  stop(): void {
    this.ends = null;
    if (this.timer !== null) this.clock.cancel(this.timer);
    this.timer = null;
  }

  private readonly follow = (): void => {
    const began = this.clock.now(), ends = this.ends!;
    this.ends = null;
    this.show(...ends);
    this.clock.painted(() => {
      this.pause = Math.max(SOONEST_MS, PART * (this.clock.now() - began));
      this.timer = this.ends && this.clock.later(this.follow, this.pause);
    });
  };
}
