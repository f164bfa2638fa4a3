import { SUSPECT_MS } from '../constants.js';
import { BackupConnection, type ConnectionOptions } from '../rpc/backup-client.js';

/** A log's connections to backups, made when first needed, and the choice among backups. */
export class Connections {
  readonly #open = new Map<number, Promise<BackupConnection>>();
  /** Backups that failed a request lately, and until when others go first. */
  readonly #suspects = new Map<number, number>();

  constructor(
    private readonly options: ConnectionOptions,
    private readonly backups: readonly number[],
    private readonly random: () => number,
  ) {}

  /** A backup that is there and not among `except`: any, but suspects last. */
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

  /** Gives up a connection: what it writes to is lost, at all segments. */
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
