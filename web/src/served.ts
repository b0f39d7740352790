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

let server: string | null = null; // its token, once it has answered
let isWhole = false; // has the file been read to its end?

export const isServed = (): boolean => server !== null;
export const isFirstLook = (): boolean => isServed() && !isWhole;

interface Question { body?: string; signal?: AbortSignal }

async function ask(token: string, path: string, question: Question = {}): Promise<Response> {
  const answer = await fetch(path, { method: 'POST', headers: { 'X-Sonde-Token': token }, cache: 'no-store', ...question });
  if (answer.status === 403) throw new Refused('the address lacks its token; use the address that sonde printed');
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

async function dataOf(token: string, path: string, question?: Question): Promise<Payload> {
  const gzip = new Uint8Array(await (await ask(token, path, question)).arrayBuffer());
  return decode(await decompressed(gzip));
}

// What the server answers to a query of one view: data with that view alone.
export function answerTo(body: string, signal: AbortSignal): Promise<Payload> {
  return dataOf(server!, '/view', { body, signal });
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

// What is said beside the data: why there is nothing newer, and whether the run still goes on (null: it was over before).
export interface Told { notice: string | null; isGrowing: boolean | null }

const OVER = 'sonde view --serve has ended; this is the last that it showed.';

// The data as it is now, and from then on whenever there is more.
export async function serve(token: string, show: (payload: Payload) => void, tell: (told: Told) => void): Promise<void> {
  let told: Told = { notice: null, isGrowing: null };
  const say = (part: Partial<Told>): void => {
    const next = { ...told, ...part };
    if (next.notice !== told.notice || next.isGrowing !== told.isGrowing) tell(next);
    told = next;
  };
  for (let shown = -1, misses = 0; misses < MISSES; await pause()) {
    try {
      const state = (await (await ask(token, '/state')).json()) as ServerState;
      misses = 0;
      if (state.number !== shown) {
        const data = await dataOf(token, '/data');
        server = token;
        isWhole = state.number > 0;
        show(data);
        shown = state.number;
      }
      say({ notice: state.failure, isGrowing: state.growing || told.isGrowing !== null ? state.growing : null });
    } catch (e) {
      misses++;
      if (e instanceof Refused || shown < 0) throw e;
    }
  }
  say({ notice: OVER });
}
