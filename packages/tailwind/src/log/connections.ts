import { SUSPECT_MS } from '../constants.js';
import { BackupConnection, type ConnectionOptions } from '../rpc/backup-client.js';

/** A log's connections to backups, created on demand, and the choice among backups. */
export class Connections {
  readonly #open = new Map<number, Promise<BackupConnection>>();
  /** Backups that failed a request recently, and the time until which others are preferred. */
  readonly #suspects = new Map<number, number>();

  constructor(
    private readonly options: ConnectionOptions,
    private readonly backups: readonly number[],
    private readonly random: () => number,
  ) {}

  /** A random connected backup that is not in `except`; suspects come last. */
  pick(except: ReadonlySet<number>): number | undefined {
    const { peers } = this.options.mesh;
    const here = this.backups.filter((id) => !except.has(id) && peers.get(id)?.state === 'connected');
    const now = performance.now();
    const trusted = here.filter((id) => !((this.#suspects.get(id) ?? 0) > now));
    const choice = trusted.length > 0 ? trusted : here;
    return choice[Math.floor(this.random() * choice.length)];
  }

  /** @throws MeshError, MeshRemoteError, VerbsError */
  async to(member: number): Promise<BackupConnection> {
    let connection = this.#open.get(member);
    if (!connection) {
      connection = BackupConnection.connect(member, this.options);
      this.#open.set(member, connection);
      connection.catch(() => this.#forget(member, connection!));
    }
    return connection;
  }

  /** Drops a connection: all segments lose the replicas that they write through it. */
  suspect(connection: BackupConnection): void {
    this.#suspects.set(connection.member, performance.now() + SUSPECT_MS);
    for (const [member, open] of this.#open) {
      if (member === connection.member) this.#forget(member, open);
    }
    connection.drop().catch(() => {});
  }

  async close(): Promise<void> {
    const open = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    await Promise.allSettled(
      open.map((result) => (result.status === 'fulfilled' ? result.value.drop() : undefined)),
    );
  }

  #forget(member: number, connection: Promise<BackupConnection>): void {
    if (this.#open.get(member) === connection) this.#open.delete(member);
  }
}
