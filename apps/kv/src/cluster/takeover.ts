import { Buffer } from 'node:buffer';
import type { Mesh } from '@rdmc/mesh';
import type { Logs, Recovery } from '@rdmc/tailwind';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { SLOTS, TAKEOVER_FRAME_BYTES, TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { decodeKey } from '../store/record.js';
import { slotOf } from '../store/slot.js';
import { type Imports, OWN_SESSION } from './imports.js';
import { type TakeoverMessage, Topic } from './messages.js';
import { recordHeader, u32 } from './peer-frames.js';
import type { PeerLinks } from './peer-links.js';
import { NOBODY } from './slot-table.js';
import { TakeoverLinks } from './takeover-links.js';
import { Floors } from './tenure.js';

export interface TakeoverOptions {
  readonly mesh: Mesh;
  readonly logs: Logs;
  readonly coordinator: CoordinatorClient;
  readonly peers: PeerLinks;
  readonly imports: Imports;
  /** All servers: every one is a backup. */
  readonly servers: () => readonly number[];
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
 * up only when all of them have it durably, and that is also the moment at which its slots change hands. The attempt ends
 * at once when a connection with one of them breaks.
 */
export async function takeOver(
  options: TakeoverOptions,
  message: TakeoverMessage,
): Promise<{ entries: number; milliseconds: number }> {
  const started = performance.now();
  const { mesh, logs, coordinator, servers } = options;
  const { takeover, logId, shares } = message;
  const backups = servers().filter((id) => id === mesh.id || mesh.peers.get(id)?.state === 'connected');
  await using recovery = await logs.recover({ coordinator, logId: BigInt(logId), backups });
  // From here on no earlier attempt can end any more, so what it left can go, and the plan can be this one.
  await coordinator.request(Topic.PLAN, { takeover });
  const others = shares.map(({ member }) => member).filter((member) => member !== mesh.id);
  const links = new TakeoverLinks(options.peers, others, options.ended);
  try {
    const entries = await handOver(recovery, links, options, message);
    await recovery.finish(shares.map((share) => BigInt(share.logId)));
    return { entries, milliseconds: Math.round(performance.now() - started) };
  } catch (error) {
    // Whatever waited says that it was aborted; why is what matters.
    throw links.signal.aborted ? links.signal.reason : error;
  }
}

/** Sends all entries to the heirs; resolves with their number when all heirs have theirs durably. */
async function handOver(
  recovery: Recovery,
  links: TakeoverLinks,
  { mesh, imports }: TakeoverOptions,
  { takeover, shares, floors }: TakeoverMessage,
): Promise<number> {
  const heirs = new Int32Array(SLOTS).fill(NOBODY);
  for (const { member, ranges } of shares) for (const [from, to] of ranges) heirs.fill(member, from, to + 1);
  const parcels = new Map(shares.map(({ member }) => [member, { parts: [], bytes: 0, frames: 0 } as Parcel]));

  const send = async (member: number, parcel: Parcel): Promise<void> => {
    const { parts } = parcel;
    parcel.parts = [];
    parcel.bytes = 0;
    parcel.frames += 1;
    if (member === mesh.id) imports.take(Buffer.concat([u32(takeover), ...parts]), OWN_SESSION);
    else await links.send(member, takeover, parts);
  };

  const tenures = new Floors(floors);
  let entries = 0;
  for await (const segment of recovery.segments()) {
    links.signal.throwIfAborted();
    for (const { type, payload } of segment.entries()) {
      const found = decodeKey(type, payload);
      if (!found) continue;
      const slot = slotOf(found.key, 0, found.key.length);
      const heir = heirs[slot]!;
      const parcel = parcels.get(heir);
      // Of slots that this log lost, never got, or got again, there may be entries of other tenures.
      if (!parcel || !tenures.isReplayed(slot, found.version)) continue;
      entries += 1;
      parcel.parts.push(recordHeader(type, payload.length), Buffer.from(payload));
      parcel.bytes += payload.length;
      if (parcel.bytes >= TAKEOVER_FRAME_BYTES) await send(heir, parcel);
    }
  }
  for (const [member, parcel] of parcels) if (parcel.parts.length > 0) await send(member, parcel);
  const { signal } = links;
  await Promise.all(
    [...parcels].map(([member, { frames }]) => {
      if (member === mesh.id) return imports.finish({ takeover, frames, session: OWN_SESSION }, signal);
      const body = { takeover, frames, session: links.session(member) };
      return mesh.request(member, Topic.IMPORTED, body, { timeoutMs: TAKEOVER_TIMEOUT_MS, signal });
    }),
  );
  return entries;
}
