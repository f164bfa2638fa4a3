import type { MeshConnection } from '@rdmc/mesh';
import { epochOf } from '../cluster/peer-frames.js';
import type { PeerListener } from '../cluster/peer-service.js';
import { PeerSink } from '../cluster/peer-sink.js';
import type { Incoming } from '../handover/incoming.js';
import type { CommandService } from './command-service.js';
import { EpochWaiters } from './epoch-waiters.js';

/** Runs other servers' requests, when this server has the slot table of their sender. */
export class PeerRequests implements PeerListener {
  readonly #waiters: EpochWaiters;

  constructor(
    private readonly service: CommandService,
    private readonly incoming: Incoming,
  ) {
    this.#waiters = new EpochWaiters(service.table);
  }

  serve(connection: MeshConnection): (payload: Buffer) => Promise<void> | undefined {
    const { executor, commands, table } = this.service;
    const isOwn = (slot: number): boolean => executor.node.isOwn(slot);
    const sink = new PeerSink(connection, executor, commands, isOwn, () => !table.hasStopped);
    connection.signal.addEventListener('abort', () => {
      sink.close();
      this.#waiters.forget(connection);
      executor.forget(sink);
    });
    return (payload) => sink.run(payload, this.#waiters.reached(epochOf(payload), connection));
  }

  handOver(payload: Buffer, session: string): void {
    this.incoming.take(payload, session);
  }

  sessionEnded(session: string): void {
    this.incoming.sessionEnded(session);
  }
}
