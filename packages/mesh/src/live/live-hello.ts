/**
 * What a HELLO says beside the member's attributes, as JSON, in a mesh whose members come and go:
 *
 *   {incarnation, epoch, host, port, process: {host, pid}, roster, attributes}
 *
 *   incarnation   of the sender; 0: it asks to be introduced, and has none yet
 *   epoch         number of the connection, given by the dialling member; 0 in an introduction
 *   host, port    at which the others reach the sender
 *   roster        digest of its roster, 16 hexadecimal digits
 */
import { opaqueRecord, pattern, text, whole } from '@rdmc/common/shapes';
import { MAX_HOST_CHARACTERS, MAX_PORT } from '../constants.js';
import { decodeShape, processName } from '../frames.js';
import type { MeshAttributes } from '../options.js';
import { ROSTER_DIGEST_BYTES, type RosterEntry } from './roster.js';

export interface LiveHello {
  readonly incarnation: number;
  readonly epoch: number;
  readonly host: string;
  readonly port: number;
  readonly process: RosterEntry['process'];
  readonly roster: string;
  /** The connection introduces a member, and is not that of the pair. */
  readonly isIntroduction: boolean;
}

/** Bounds of an entry's fields, which `ROSTER` and `INTRODUCE` have as well. */
export const entryFields = {
  incarnation: whole(0),
  host: text(MAX_HOST_CHARACTERS),
  port: whole(1, MAX_PORT),
  process: processName,
} as const;

const shape = opaqueRecord({
  ...entryFields,
  epoch: whole(0),
  roster: pattern(new RegExp(`^[0-9a-f]{${2 * ROSTER_DIGEST_BYTES}}$`)),
});

/** The attributes are the caller's to check. @throws MeshError ERR_RDMC_MESH_PROTOCOL */
export function decodeLiveHello(
  bytes: Buffer,
  isIntroduction: boolean,
): LiveHello & { readonly attributes: unknown } {
  const { incarnation, epoch, host, port, process, roster, ...rest } = decodeShape(shape, bytes);
  const { attributes } = rest as { attributes?: MeshAttributes };
  return { incarnation, epoch, host, port, process, roster, isIntroduction, attributes };
}

/** The sender of a HELLO, as an entry of a roster. */
export function entryOf(
  { from, instance }: { readonly from: number; readonly instance: Buffer },
  live: LiveHello,
): RosterEntry {
  const { incarnation, host, port, process } = live;
  return { id: from, incarnation, instance: instance.toString('hex'), host, port, process };
}
