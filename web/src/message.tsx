// SPDX-License-Identifier: MIT
// message: one sentence about what was just done or refused; it goes by itself.
import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 5000;
let show: (sentence: string) => void = () => {};

export function say(sentence: string): void {
  show(sentence);
}

export function Message() {
  const [sentence, setSentence] = useState('');
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    show = (next) => {
      clearTimeout(timer);
      setSentence(next);
      timer = setTimeout(() => setSentence(''), SHOWN_MS);
    };
    return () => clearTimeout(timer);
  }, []);
  return <div class="message" role="status" aria-label="Message">{sentence}</div>;
}
