import { SUSPECT_MS } from '../constants.js';
import { BackupConnection, type ConnectionOptions } from '../rpc/backup-client.js';

/** The options of all connections of a log. */
export interface LogConnectionOptions extends Omit<ConnectionOptions, 'resumes' | 'isCurrent'> {
  /** Whether the log is being written. */
  readonly isBegun: () => boolean;
}

/** A log's connections to backups, created on demand, and the choice among backups. */
export class Connections {
  readonly #open = new Map<number, Promise<BackupConnection>>();
  readonly #used = new Set<number>();
  /** Backups that failed a request recently, and the time until which others are preferred. */
  readonly #suspects = new Map<number, number>();

  /** How often the mesh's connection with each backup has ended. */
  readonly #losses = new Map<number, number>();

  constructor(
    private readonly options: LogConnectionOptions,
    private readonly backups: () => readonly number[],
    private readonly random: () => number,
  ) {}

  /** A random connected backup that is not in `except`; suspects come last. */
  pick(except: ReadonlySet<number>): number | undefined {
    const { peers } = this.options.mesh;
    const here = this.backups().filter((id) => !except.has(id) && peers.get(id)?.state === 'connected');
    const now = performance.now();
    const trusted = here.filter((id) => !((this.#suspects.get(id) ?? 0) > now));
    const choice = trusted.length > 0 ? trusted : here;
    return choice[Math.floor(this.random() * choice.length)];
  }

  /** Whether the log ever asked for a connection with a member: without one, it has no replicas there. */
  hasUsed(member: number): boolean {
    return this.#used.has(member);
  }

  /** @throws MeshError, MeshRemoteError, VerbsError */
  async to(member: number): Promise<BackupConnection> {
    let connection = this.#open.get(member);
    if (!connection) {
      this.#used.add(member);
      const losses = this.#losses.get(member);
      const isCurrent = (): boolean => this.#losses.get(member) === losses;
      const resumes = this.options.isBegun();
      connection = BackupConnection.connect(member, { ...this.options, resumes, isCurrent });
      this.#open.set(member, connection);
      connection.catch(() => this.#forget(member, connection!));
    }
    return connection;
  }

  /** The mesh has lost a backup, or it left: connections with it end, also where no segment uses them. */
  lost(member: number): void {
    this.#losses.set(member, (this.#losses.get(member) ?? 0) + 1);
    const open = this.#open.get(member);
    if (open === undefined) return;
    this.#forget(member, open);
    open.then(
      (connection) => connection.drop().catch(() => {}),
      () => {},
    );
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
