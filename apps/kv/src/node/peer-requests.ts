import type { MeshConnection } from '@rdmc/mesh';
import type { PeerListener } from '../cluster/peer-service.js';
import { PeerSink } from '../cluster/peer-sink.js';
import type { CommandService } from './command-service.js';
import { EpochWaiters } from './epoch-waiters.js';

/** Runs other servers' requests, when this server has the slot table of their sender. */
export class PeerRequests implements PeerListener {
  readonly #waiters: EpochWaiters;

  constructor(private readonly service: CommandService) {
    this.#waiters = new EpochWaiters(service.table);
  }

  serve(connection: MeshConnection): (payload: Buffer) => Promise<void> | undefined {
    const { executor, commands } = this.service;
    const sink = new PeerSink(connection, executor, commands, (slot) => executor.node.isOwn(slot));
    connection.signal.addEventListener('abort', () => executor.forget(sink));
    return (payload) => {
      const wait = this.#waiters.reached(payload.readUInt32LE(0));
      return wait ? wait.then(() => sink.run(payload)) : sink.run(payload);
    };
  }
}
