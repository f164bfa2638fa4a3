import { setTimeout as delay } from 'node:timers/promises';
import type { KvProcess } from './kv-server.js';

/** Between two looks at the status. */
const LOOK_MS = 20;

/** The parts of the answer to `kv admin status` that a run looks at. */
export interface Status {
  readonly isHealthy: boolean;
  readonly coordinator: { readonly facts: { readonly level: number } | null };
  readonly servers: readonly ServerStatus[];
  /** Slots without a server. */
  readonly unserved: readonly unknown[];
}

interface ServerStatus {
  readonly server: number;
  readonly slots: readonly (readonly [from: number, to: number])[];
  readonly facts: {
    readonly lease: boolean;
    readonly backup: { readonly logs: readonly string[]; readonly buffersUsed: number };
  } | null;
}

/** Undefined: the server does not answer. */
export async function statusOf(asked: KvProcess): Promise<Status | undefined> {
  const answer = await asked.admin('STATUS');
  return answer === undefined ? undefined : (JSON.parse(answer) as Status);
}

/** What a server says of another one, or of itself. */
export async function factsOf(server: KvProcess, asked = server): Promise<ServerStatus | undefined> {
  const status = await statusOf(asked);
  return status?.servers.find((each) => String(each.server) === server.id);
}

/** The number of the server that has a key. */
export async function ownerOf(key: string, asked: KvProcess): Promise<string | undefined> {
  const [slot = -1, status] = [await asked.slotOf(key), await statusOf(asked)];
  const has = ({ slots }: ServerStatus): boolean => slots.some(([from, to]) => from <= slot && slot <= to);
  const owner = status?.servers.find(has);
  return owner && String(owner.server);
}

/** A server that was chosen among those that run. @throws where none runs: what waits for an answer ends with its run */
export function running(server: KvProcess): KvProcess {
  if (server.gone) throw new Error('no server runs');
  return server;
}

/** Resolves when the status fits that any server gives. */
export async function untilStatus(asked: () => KvProcess, fits: (status: Status) => boolean): Promise<void> {
  for (;;) {
    const status = await statusOf(running(asked()));
    if (status && fits(status)) return;
    await delay(LOOK_MS);
  }
}

/** Resolves when a server answers reads, with true, or has ended. */
export async function serves(server: KvProcess): Promise<boolean> {
  while (!server.gone) {
    if ((await factsOf(server))?.facts?.lease) return true;
    await delay(LOOK_MS);
  }
  return false;
}
