import type { Socket } from 'node:net';
import type { MeshError } from './errors.js';

/** Counts the pending connections. */
export interface PendingOwner {
  heard(connection: PendingConnection): void;
  uncount(connection: PendingConnection): void;
  remove(connection: PendingConnection): void;
}

/** One accepted connection before its handshake is complete: silent, then with first bytes, then with the key proved. */
export class PendingConnection {
  /** Why this side ended the connection, if it did. */
  reason: MeshError | undefined;
  /** Kept by PendingConnections. */
  ticks = 0;
  isSilent = true;

  constructor(
    readonly socket: Socket,
    /** By `sourceOf`. */
    readonly source: string,
    private readonly owner: PendingOwner,
  ) {}

  /** Its first bytes are here. */
  heard(): void {
    this.isSilent = false;
    this.owner.heard(this);
  }

  /** It has proved the key: it does not count for a quota any more, but its time is still bounded. */
  proven(): void {
    this.isSilent = false;
    this.owner.uncount(this);
  }

  /** Its handshake is complete, or it is closed. */
  done(): void {
    this.owner.remove(this);
  }

  end(reason: MeshError): void {
    this.reason ??= reason;
    this.socket.destroy();
    this.done();
  }
}
