// SPDX-License-Identifier: MIT
// testing: the parts of Node that tests and scripts use; the whole of its types would be one more package.

declare module 'node:test' {
  export function test(name: string, run: () => void | Promise<void>): void;
}
declare module 'node:assert/strict' {
  interface Assert {
    (value: unknown, message?: string): asserts value;
    ok(value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    throws(run: () => unknown, expected?: unknown): void;
    rejects(run: Promise<unknown>, expected?: unknown): Promise<void>;
    match(text: string, pattern: RegExp): void;
  }
  const assert: Assert;
  export default assert;
}
declare module 'node:zlib' {
  export function gzipSync(bytes: Uint8Array | string): Uint8Array;
}
