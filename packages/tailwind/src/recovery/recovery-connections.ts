import { DEFAULT_RETRY_TIMEOUT_MS } from '../constants.js';
import type { NodeParts } from '../node-parts.js';
import { BackupConnection } from '../rpc/backup-client.js';

/** Connections for reading replicas of a dead log, one with each backup, made when they are needed. */
export class RecoveryConnections {
  readonly #connections = new Map<number, Promise<BackupConnection>>();
  #isClosed = false;

  constructor(
    private readonly parts: NodeParts,
    private readonly logId: bigint,
  ) {}

  get(member: number): Promise<BackupConnection> {
    let connection = this.#connections.get(member);
    if (!connection) {
      connection = this.#connect(member);
      this.#connections.set(member, connection);
      connection.catch(() => this.#connections.delete(member));
    }
    return connection;
  }

  /** A broken connection cannot be used again: the next request gets a new one. */
  async drop(member: number, connection: BackupConnection): Promise<void> {
    this.#connections.delete(member);
    await connection.drop().catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#connections.values()];
    this.#connections.clear();
    // One that is being made ends when it is.
    await Promise.all(
      all.map((each) => Promise.race([each.then((made) => made.drop()), undefined]).catch(() => {})),
    );
  }

  async #connect(member: number): Promise<BackupConnection> {
    const { mesh, link } = this.parts;
    const how = { mode: 'one-sided', session: null, retryTimeoutMs: DEFAULT_RETRY_TIMEOUT_MS } as const;
    const made = await BackupConnection.connect(member, { mesh, link, logId: this.logId, ...how });
    if (this.#isClosed) await made.drop();
    return made;
  }
}
