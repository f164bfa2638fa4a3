import { anySignal } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import { type Logs, plainDivision } from '@rdmc/tailwind';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { codeOf, messageOf } from '../errors.js';
import { TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { HeirsFull } from './heirs-full.js';
import type { Imports } from './imports.js';
import { type PullMessage, pullAnswer, type Share, type TakeoverMessage, Topic } from './messages.js';
import type { PartMemory } from './part-memory.js';
import { Floors } from './tenure.js';

export interface TakeoverOptions {
  readonly mesh: Mesh;
  readonly logs: Logs;
  readonly coordinator: CoordinatorClient;
  readonly imports: Imports;
  /** All servers: every one is a backup. */
  readonly servers: () => readonly number[];
  readonly ended: AbortSignal;
}

/**
 * Leads the recovery of a dead server's log: fences it at the backups, proves from their inventories that it is complete, and
 * has every heir, this server perhaps included, pull its part from the backups. The heirs write their parts into their own logs
 * at the same time. The dead log is given up only when all of them have it durably, and that is also the moment at which its
 * slots change hands. The attempt ends when one of them is lost.
 * @throws HeirsFull; why the log cannot be recovered, or an heir cannot take its part
 */
export async function takeOver(
  options: TakeoverOptions,
  { takeover, logId, shares, floors }: TakeoverMessage,
): Promise<{ entries: number; milliseconds: number }> {
  const started = performance.now();
  const { mesh, logs, coordinator, imports, servers, ended } = options;
  const backups = servers().filter((id) => id === mesh.id || mesh.peers.get(id)?.state === 'connected');
  await using recovery = await logs.recover({ coordinator, logId: BigInt(logId), backups });
  // From here on no earlier attempt can end any more, so what it left can go, and the plan can be this one.
  await coordinator.request(Topic.PLAN, { takeover });
  const division = await recovery.divide(shares);
  // The failure of one ends the own pull, and the waits for the others' answers. The next attempt ends their pulls.
  const failed = new AbortController();
  const signal = anySignal(ended, failed.signal);
  const pulls = shares.map(async ({ member }): Promise<number> => {
    if (member === mesh.id) {
      return (await pullPart({ logs, imports, ended: signal }, { takeover, division, floors })).entries;
    }
    const body = { takeover, division: plainDivision(division), floors };
    const answer = await mesh.request(member, Topic.PULL, body, { timeoutMs: TAKEOVER_TIMEOUT_MS, signal });
    return readShape(pullAnswer, answer).entries;
  });
  try {
    const counts = await Promise.all(pulls);
    await recovery.record(shares.map((share) => BigInt(share.logId)));
    const entries = counts.reduce((sum, count) => sum + count, 0);
    // The slots have their new servers now; nobody waits for the files.
    void recovery.free();
    return { entries, milliseconds: Math.round(performance.now() - started) };
  } catch (error) {
    failed.abort(new Error('another heir has failed'));
    throw heirsFull(shares, await Promise.allSettled(pulls)) ?? error;
  } finally {
    failed.abort();
  }
}

/** The coordinator can leave these heirs out; an error that one of them threw does not say which one it was. */
function heirsFull(
  shares: readonly Share[],
  pulls: readonly PromiseSettledResult<unknown>[],
): HeirsFull | undefined {
  const full = shares.flatMap(({ member }, index) => {
    const pull = pulls[index]!;
    if (pull.status === 'fulfilled' || codeOf(pull.reason) !== 'ERR_RDMC_LOG_FULL') return [];
    return [{ member, reason: messageOf(pull.reason) }];
  });
  if (full.length === 0) return undefined;
  const members = full.map(({ member }) => member);
  return new HeirsFull(members, full[0]!.reason);
}

/** Pulls this server's part of a dead log from the backups, and writes it into this server's log; resolves when it is durable. */
export async function pullPart(
  { logs, imports, ended }: Pick<TakeoverOptions, 'logs' | 'imports' | 'ended'>,
  { takeover, division, floors }: PullMessage,
): Promise<{ entries: number }> {
  const parts = (signal: AbortSignal, memory: PartMemory) => {
    return logs.pull({ division, signal, allocate: (byteLength) => memory.allocate(byteLength) });
  };
  return { entries: await imports.take(takeover, { parts, tenures: new Floors(floors) }, ended) };
}
