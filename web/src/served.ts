// SPDX-License-Identifier: MIT
// served: a page from `sonde view --serve` asks the server that it came from for its data, and again while the capture
// grows or is still being read.
//
// The token stands behind # in the address that was printed for the user: browsers send that part to nobody.  Here it
// goes into a header of each request.

import { decode, decompressed } from './payload';
import type { Payload } from './types';

interface ServerState {
  number: number; // of readings: 0, nothing was read whole yet
  reading: boolean;
  growing: boolean;
  failure: string | null;
}

const PAUSE_MS = 500; // between two questions whether there is more
const MISSES = 6; // unanswered questions after which the server has ended

export class Refused extends Error {}

async function ask(token: string, path: string): Promise<Response> {
  const answer = await fetch(path, { method: 'POST', headers: { 'X-Sonde-Token': token }, cache: 'no-store' });
  if (answer.status === 403) throw new Refused('the address lacks its token; use the address that sonde printed');
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

async function dataOf(token: string): Promise<Payload> {
  const gzip = new Uint8Array(await (await ask(token, '/data')).arrayBuffer());
  return decode(await decompressed(gzip));
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

// The data as it is now, and from then on whenever there is more.  `tell` gets a sentence when a reading has failed, and
// when no more can come.
export async function serve(token: string, show: (payload: Payload) => void, tell: (sentence: string) => void): Promise<void> {
  let failure: string | null = null; // that was told last
  let shown = -1;
  let misses = 0;
  for (;;) {
    try {
      const state = (await (await ask(token, '/state')).json()) as ServerState;
      misses = 0;
      if (state.failure && state.failure !== failure) tell(state.failure);
      failure = state.failure;
      if (state.number !== shown) {
        show(await dataOf(token));
        shown = state.number;
      }
    } catch (e) {
      misses++;
      if (e instanceof Refused || shown < 0) throw e;
      if (misses === MISSES) tell('sonde view --serve has ended; this is the last that it showed.');
      if (misses >= MISSES) return;
    }
    await pause();
  }
}
