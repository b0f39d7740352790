// SPDX-License-Identifier: MIT
// app: the page from top to bottom.
import { useEffect } from 'preact/hooks';
import { Controls } from './controls';
import { Details } from './details';
import { Findings } from './findings';
import { Head } from './head';
import { Keys, onKey } from './keys';
import { Message } from './message';
import { useStore } from './store';
import { Views } from './tabs';
import { Timeline } from './timeline/timeline';

export function App() {
  const payload = useStore((s) => s.payload);
  useEffect(() => {
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <div class="app">
      <Head title={payload.title} program={payload.program} head={payload.head} />
      <Findings findings={payload.findings} />
      <Timeline payload={payload} />
      <Controls payload={payload} />
      <Views views={payload.views} />
      <Details />
      <Keys />
      <Message />
    </div>
  );
}
