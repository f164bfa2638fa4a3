import type { Member } from '@rdmc/mesh';
import type { Backup } from '@rdmc/tailwind/backup';
import type { MemberLoss } from '../cluster/messages.js';
import type { MonitorOptions } from '../monitor/monitor.js';
import type { ServerTls } from '../server/client-port.js';
import type { Protection } from './protection.js';

/** The options that servers and the coordinator have in common. */
export interface MemberOptions {
  /** The coordinator (id 0) and all servers (1, 2, …); the same everywhere. */
  readonly members: readonly Member[];
  /** The cluster key; needed beyond loopback. */
  readonly key?: string | undefined;
  /** How long to wait for the other members at the start (default 60 s). */
  readonly joinTimeoutMs?: number | undefined;
  /** Default 10 s; 0: never. */
  readonly silenceTimeoutMs?: number | undefined;
  /** Where a member that is not in the list listens: a standby coordinator, or a server that joins later. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** Directory of the state and files that outlive the process. */
  readonly directory: string;
}

/** The options of `KvServer.start`. */
export interface ServerOptions extends MemberOptions, Protection {
  /** 1 and up. */
  readonly id: number;
  /**
   * For a server that is not in the list of members with which the cluster was started, and joins it while it runs: the
   * cluster's name, and in `members` those that run now, as one of its servers says, or those that it had last (`kv server --join`).
   */
  readonly clusterId?: string | undefined;
  /** Where clients connect (default 127.0.0.1, port 6379; 0: any port). */
  readonly host?: string | undefined;
  /** Port for clients (default 6379; 0: any). */
  readonly port?: number | undefined;
  /** The name or address that clients are told (default: as `host`, or the member's where that is a wildcard). */
  readonly announce?: string | undefined;
  /** Clients connect with TLS only; undefined: without TLS. */
  readonly tls?: ServerTls | undefined;
  /** The password of clients, for AUTH; needs a key. */
  readonly password?: string | undefined;
  /** Connections of clients at once. */
  readonly maxClients?: number | undefined;
  /** Backups of every write (default 3); 0: none, for comparison. */
  readonly replicas?: number | undefined;
  /** 'one-sided', or 'rpc' for comparison. */
  readonly mode?: 'one-sided' | 'rpc' | undefined;
  /** Size of a segment of the log, in bytes: the same at all servers, otherwise the server is refused (default 8 MiB). */
  readonly segmentBytes?: number | undefined;
  /** Segments of this server's log: with `segmentBytes` the bound of its keys and values. */
  readonly maxSegments?: number | undefined;
  /** Segments of other servers that may be open or unflushed here. */
  readonly buffers?: number | undefined;
  /**
   * How long this machine runs after its power has failed, in seconds. Then the disk of `directory` is measured, and no more buffers are
   * granted than it writes in that time (default: not known).
   */
  readonly powerHoldSeconds?: number | undefined;
  /** RDMA device, as for `openDevice`. */
  readonly device?: string | undefined;
  /** How long the data plane polls after work, in milliseconds (default 50). */
  readonly windowMs?: number | undefined;
  /**
   * Whether clients are redirected with MOVED to the servers of their keys, as by Redis Cluster (default false: this server
   * forwards their commands).
   */
  readonly redirects?: boolean | undefined;
  /** How long commands wait for slots whose server is lost. */
  readonly slotWaitMs?: number | undefined;
  /** The thresholds of SLOWLOG and LATENCY. */
  readonly monitor?: MonitorOptions | undefined;
}

/** The events of a server. */
export interface ServerEvents {
  /**
   * The backup of other servers' logs is open, perhaps long before the server is: from now on others may have data in memory here only.
   * See `Backup.dump`. Not without replication.
   */
  backupOpened?(backup: Backup): void;
  /** A member of the cluster is lost: a server (1, 2, …) or the coordinator (0). */
  memberLost?(event: MemberLoss): void;
  /** A client that sent HTTP was disconnected: a web page may have directed it here. At most one event in a minute. */
  httpRefused?(event: { address: string }): void;
  /** A client sent SHUTDOWN: close the server, or end the process. Without this function SHUTDOWN is refused. */
  shutdown?(): void;
}

export const JOIN_TIMEOUT_MS = 60_000;
