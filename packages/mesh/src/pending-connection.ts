import type { Socket } from 'node:net';
import type { MeshError } from './errors.js';

/** Counts the connections that have not introduced themselves. */
export interface PendingOwner {
  heard(connection: PendingConnection): void;
  uncount(connection: PendingConnection): void;
  remove(connection: PendingConnection): void;
}

/** One connection on its way in: silent, then speaking, then proven, then introduced. */
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

  /** It has proved the key: it counts against no quota any more, but its time still runs. */
  proven(): void {
    this.isSilent = false;
    this.owner.uncount(this);
  }

  /** It has introduced itself, or it is gone. */
  done(): void {
    this.owner.remove(this);
  }

  end(reason: MeshError): void {
    this.reason ??= reason;
    this.socket.destroy();
    this.done();
  }
}
