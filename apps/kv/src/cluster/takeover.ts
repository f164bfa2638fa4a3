import { Buffer } from 'node:buffer';
import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import { type CoordinatorClient, decodeObject, decodeTombstone, EntryType, Recovery } from '@rdmc/tailwind';
import { KvError } from '../errors.js';
import { SLOTS, TAKEOVER_FRAME_BYTES, TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { slotOf } from '../store/slot.js';
import type { Imports } from './imports.js';
import { COORDINATOR, type TakeoverMessage, Topic } from './messages.js';
import { recordHeader, u32 } from './peer-frames.js';
import type { Peers } from './peers.js';
import { NOBODY } from './slot-table.js';

export interface TakeoverOptions {
  readonly mesh: Mesh;
  readonly plane: DataPlane;
  readonly coordinator: CoordinatorClient;
  readonly peers: Peers;
  readonly imports: Imports;
  /** All servers: every one is a backup. */
  readonly servers: readonly number[];
  readonly ended: AbortSignal;
}

/** What waits to be sent to one heir. */
interface Parcel {
  parts: Buffer[];
  bytes: number;
  frames: number;
}

/**
 * Recovers a dead server's log at this server: reads its segments from the backups, and sends every entry to the server
 * that gets its slot, this one included; these write it into their own logs at the same time. The dead log is given
 * up only when all of them have it durably, and that is also the moment at which its slots change hands.
 */
export async function takeOver(
  { mesh, plane, coordinator, peers, imports, servers, ended }: TakeoverOptions,
  { takeover, logId, shares }: TakeoverMessage,
): Promise<{ entries: number; milliseconds: number }> {
  const started = performance.now();
  const backups = servers.filter((id) => id === mesh.id || mesh.peers.get(id)?.state === 'connected');
  await using recovery = await Recovery.begin({ mesh, plane, coordinator, logId: BigInt(logId), backups });
  // From here on no earlier attempt can end any more, so what it left can go, and the plan can be this one.
  await mesh.request(COORDINATOR, Topic.PLAN, { takeover });
  const heirs = new Int32Array(SLOTS).fill(NOBODY);
  for (const { member, ranges } of shares) for (const [from, to] of ranges) heirs.fill(member, from, to + 1);
  const parcels = new Map(shares.map(({ member }) => [member, { parts: [], bytes: 0, frames: 0 } as Parcel]));

  const send = async (member: number, parcel: Parcel): Promise<void> => {
    const { parts } = parcel;
    parcel.parts = [];
    parcel.bytes = 0;
    parcel.frames += 1;
    if (member === mesh.id) {
      imports.take(Buffer.concat([u32(takeover), ...parts]));
      return;
    }
    const link = peers.link(member);
    if (!link) throw new KvError('ERR_RDMC_KV_MEMBER_LOST', `member ${member} is gone`);
    await link.sendRecords(takeover, parts);
  };

  let entries = 0;
  for await (const segment of recovery.segments()) {
    for (const { type, payload } of segment.entries()) {
      const key = keyOf(type, payload);
      const heir = key ? heirs[slotOf(key, 0, key.length)]! : NOBODY;
      const parcel = parcels.get(heir);
      // Of slots that this log lost, or never got, there may be leftovers.
      if (!parcel) continue;
      entries += 1;
      parcel.parts.push(recordHeader(type, payload.length), Buffer.from(payload));
      parcel.bytes += payload.length;
      if (parcel.bytes >= TAKEOVER_FRAME_BYTES) await send(heir, parcel);
    }
  }
  for (const [member, parcel] of parcels) if (parcel.parts.length > 0) await send(member, parcel);
  await Promise.all(
    [...parcels].map(([member, { frames }]) => {
      if (member === mesh.id) return imports.finish(takeover, frames, ended);
      const options = { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: ended };
      return mesh.request(member, Topic.IMPORTED, { takeover, frames }, options);
    }),
  );
  await recovery.finish(shares.map((share) => BigInt(share.logId)));
  return { entries, milliseconds: Math.round(performance.now() - started) };
}

function keyOf(type: number, payload: Uint8Array): Uint8Array | undefined {
  if (type === EntryType.OBJECT) return decodeObject(payload).key;
  return type === EntryType.TOMBSTONE ? decodeTombstone(payload).key : undefined;
}
