// SPDX-License-Identifier: MIT
// printing: whether the page is being put on paper, where nothing can be scrolled.
import { useEffect, useState } from 'preact/hooks';

const paper = matchMedia('print');

export function usePrinting(): boolean {
  const [isPrinting, setIsPrinting] = useState(paper.matches);
  useEffect(() => {
    const see = () => setIsPrinting(paper.matches), before = () => setIsPrinting(true), after = () => setIsPrinting(false);
    paper.addEventListener('change', see);
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);
    return () => {
      paper.removeEventListener('change', see);
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);
  return isPrinting;
}
