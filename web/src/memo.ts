// SPDX-License-Identifier: MIT
// memo: keeps the last results for an object, by what they were made with.

export type Memo<T> = (of: object, key: string, make: () => T) => T;

export function memo<T>(size: number): Memo<T> {
  const found = new WeakMap<object, Map<string, T>>();
  return (of, key, make) => {
    let byKey = found.get(of);
    if (!byKey) found.set(of, (byKey = new Map<string, T>()));
    const had = byKey.has(key);
    const value = had ? byKey.get(key)! : make();
    byKey.delete(key); // the last used is the last in the map
    byKey.set(key, value);
    if (byKey.size > size) byKey.delete(byKey.keys().next().value!);
    return value;
  };
}

let last = 0;
const numbers = new WeakMap<object, number>();

// A number that stands for an object in a key.
export function numberOf(of: object): number {
  let n = numbers.get(of);
  if (n === undefined) numbers.set(of, (n = ++last));
  return n;
}
