import type { MeshConnection } from '@rdmc/mesh';
import type { Frame } from '@rdmc/mesh/sockets';
import { KvError } from '../errors.js';
import { MAX_PEER_FRAME_BYTES } from '../limits.js';
import { PeerFrame } from './peer-frames.js';

/** Handles the frames of other servers. */
export interface PeerListener {
  /** Returns the function that runs the requests of one connection; it returns a promise where they must wait. */
  serve(connection: MeshConnection): (payload: Buffer) => Promise<void> | undefined;
}

/** Serves one connection on which another server sends requests. While a frame waits, the next one is not read. */
export function servePeer(connection: MeshConnection, listener: PeerListener): void {
  const run = listener.serve(connection);
  connection.receive(MAX_PEER_FRAME_BYTES, ({ type, payload }: Frame) => {
    if (type === PeerFrame.REQUESTS) return run(payload);
    throw new KvError('ERR_RDMC_KV_PROTOCOL', `a server sent a frame of the unknown type ${type}`);
  });
}
