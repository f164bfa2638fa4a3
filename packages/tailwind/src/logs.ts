import { Tracer } from '@rdmc/common';
import { type NodeContext, type NodeProtocol, nodeProtocol } from '@rdmc/node';
import { Backup } from './backup/backup.js';
import { CoordinatorClient } from './coordinator/coordinator-client.js';
import { invalidOption, TailwindError } from './errors.js';
import { Log } from './log/log.js';
import type { LogOptions } from './log/log-options.js';
import type { NodeParts } from './node-parts.js';
import { PROTOCOL_NAME, type TailwindRecords, tailwindRecords } from './records.js';
import { type PulledPart, type PullOptions, pull } from './recovery/pull.js';
import { Recovery, type RecoveryOptions } from './recovery/recover.js';
import { BackupService } from './rpc/backup-service.js';
import type { BackupServiceOptions } from './rpc/backup-service-options.js';
import { WorkerLink } from './worker-link.js';

/** Version of the messages between members about logs. */
const VERSION = 1;

interface LogMessage {
  readonly logId: bigint;
  readonly node: number;
}

const createTrace = new Tracer<LogMessage>('@rdmc/tailwind:create');
const recoverTrace = new Tracer<LogMessage>('@rdmc/tailwind:recover');

/** The logs of one node, and its backup for logs of other members. Belongs to the thread that joined. */
export class Logs {
  private readonly parts: NodeParts;
  #isClosed = false;
  #death: Error | undefined;

  /** @internal `tailwind()` creates it for a node. */
  constructor(private readonly context: NodeContext<TailwindRecords>) {
    const { mesh, plane, logger } = context;
    this.parts = { mesh, plane, logger, link: WorkerLink.connect(context), open: new Set() };
    this.parts.link.onEnd((error) => {
      this.#death = error;
    });
  }

  /**
   * Creates a log of this member, and opens its first segment. On failure, backups free what they had opened for it.
   * @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_TOO_FEW_BACKUPS,
   *   ERR_RDMC_NODE_CLOSED, ERR_RDMC_DATAPLANE_DIED, ERR_RDMC_LOG_CLOSED when the node closes meanwhile;
   *   MeshRemoteError with ERR_RDMC_LOG_FENCED, or with ERR_RDMC_LOG_EXISTS where a backup has another log with this
   *   id
   */
  async create(options: LogOptions): Promise<Log> {
    this.#assertOpen();
    return createTrace.promise(
      () => ({ logId: options.logId, node: this.context.id }),
      () => Log.create(this.parts, options),
    );
  }

  /**
   * Lets the members of the cluster use a backup of this node: answers their requests, and owns the queue pairs for
   * their writes. The backup must have been opened with the node's protection domain. It stays open when the service,
   * or the node, closes: close it after the service, and before the node.
   * @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_NODE_CLOSED,
   *   ERR_RDMC_DATAPLANE_DIED; ERR_RDMC_BACKUP_SERVED where this node serves a backup already
   */
  serve(backup: Backup, options: BackupServiceOptions = {}): BackupService {
    this.#assertOpen();
    if (!(backup instanceof Backup)) throw invalidOption('logs.serve: needs what Backup.open resolves with');
    return BackupService.serve(this.parts, backup, options);
  }

  /**
   * Declares a log dead whose primary has failed, fences it at every backup, and determines which segments it has.
   * Close the recovery, or finish it, before the node. If the node closes first, the log can be recovered again once
   * the coordinator knows that this member left.
   * @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_NODE_CLOSED, ERR_RDMC_DATAPLANE_DIED;
   *   ERR_RDMC_LOG_INCOMPLETE, with `missing`, when too much was lost: nothing is discarded then, and recovery can be
   *   tried again. MeshRemoteError with ERR_RDMC_RECOVERY_RUNNING, ERR_RDMC_LOG_STATE, ERR_RDMC_LOG_UNKNOWN of the
   *   coordinator; MeshError where the coordinator cannot be reached
   */
  async recover(options: RecoveryOptions): Promise<Recovery> {
    this.#assertOpen();
    return recoverTrace.promise(
      () => ({ logId: options.logId, node: this.context.id }),
      () => Recovery.begin(this.parts, options),
    );
  }

  /**
   * Reads this member's part of a dead log from the backups, as an heir. Its leader has called `recovery.divide`, and sent the
   * answer. The heir appends what it reads to a log of its own, and tells the leader when that is acknowledged; it must not serve
   * before the leader's `finish`.
   * @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_NODE_CLOSED, ERR_RDMC_DATAPLANE_DIED; ERR_RDMC_LOG_INCOMPLETE
   *   where no backup serves a segment, or another attempt has begun; ERR_RDMC_INVALID_OPTION where `allocate` gives memory of
   *   another length; an error of `allocate`; the signal's reason
   */
  pull(options: PullOptions): AsyncGenerator<PulledPart, void> {
    this.#assertOpen();
    return pull(this.parts, options);
  }

  /**
   * This member's view of the coordinator.
   * @param memberId the member that runs the coordinator, which may be this one; it may join later where members come and go
   * @throws TailwindError ERR_RDMC_INVALID_OPTION where the fixed list does not have such a member
   */
  coordinator(memberId: number): CoordinatorClient {
    const { mesh } = this.parts;
    const isFixed = mesh.incarnation === 0;
    if (!Number.isSafeInteger(memberId) || (isFixed && !mesh.members.some(({ id }) => id === memberId))) {
      throw invalidOption(`logs.coordinator: ${String(memberId)} is not a member of the cluster`);
    }
    return new CoordinatorClient(mesh, memberId);
  }

  /**
   * Closes the logs and services that are open, as their `close` does: await appends first. The node calls it when it
   * closes.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.parts.open].map((each) => each.close()));
  }

  #assertOpen(): void {
    const { id } = this.context;
    if (this.#isClosed) {
      throw new TailwindError('ERR_RDMC_NODE_CLOSED', `Node ${id} is closed; join again`);
    }
    if (!this.#death) return;
    throw new TailwindError(
      'ERR_RDMC_DATAPLANE_DIED',
      `The data plane of node ${id} died: ${this.#death.message}; close the node and join again`,
      { cause: this.#death },
    );
  }
}

/**
 * Replicated logs and their backups, for `Node.join({ protocols: { logs: tailwind() } })`. With `join` in place of `members`,
 * the coordinator and backups may be lost and return while logs are written.
 */
export function tailwind(): NodeProtocol<Logs> {
  return nodeProtocol({
    name: PROTOCOL_NAME,
    version: VERSION,
    records: tailwindRecords,
    // Beside this file when built.
    worker: new URL('./worker.js', import.meta.url),
    application: (context) => new Logs(context),
  });
}
