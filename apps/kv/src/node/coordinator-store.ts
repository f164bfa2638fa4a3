import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileStore, type LevelStore } from '@rdmc/tailwind/coordinator';

/** The place of a coordinator's state. */
export interface CoordinatorState {
  readonly directory: string;
  /** etcd's endpoints, to keep the state there and not in a file of the directory. Several coordinators can share it. */
  readonly etcd?: readonly string[] | undefined;
  /** Prefix of each key in etcd: one per cluster. */
  readonly etcdPrefix?: string | undefined;
  /** PEM file of the authority of etcd's certificates, for https endpoints. */
  readonly etcdCaFile?: string | undefined;
  /** How long a silent coordinator keeps the lead in etcd (default 10 s, at least 2 s; whole seconds). */
  readonly leadMs?: number | undefined;
}

/** How long to wait where another coordinator leads. */
export interface LeadWait {
  /** Default: not at all. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** etcd does not answer, or did not renew the lead. */
  readonly onSilence?: (reason: string) => void;
}

/** A store that tells when another coordinator leads. */
export type CoordinatorStore = LevelStore & { readonly signal?: AbortSignal };

/** @throws TailwindError ERR_RDMC_STATE_LOCKED: another coordinator leads; and others of its stores */
export async function openStore(
  options: CoordinatorState,
  { waitMs = 0, signal, onSilence }: LeadWait = {},
): Promise<CoordinatorStore> {
  const { directory, etcd, etcdPrefix: prefix, etcdCaFile, leadMs } = options;
  if (!etcd) return FileStore.open(join(directory, 'state'));
  const [user, password] = [process.env.RDMC_ETCD_USER, process.env.RDMC_ETCD_PASSWORD];
  const warn = (facts: object): void => onSilence?.(String((facts as { reason?: unknown }).reason));
  // Most coordinators have no etcd: its client takes time to load.
  const { EtcdStore } = await import('@rdmc/tailwind/etcd');
  return EtcdStore.open({
    endpoints: etcd,
    waitMs,
    signal,
    ...(onSilence && { logger: { warn } }),
    ...(leadMs !== undefined && { leadMs }),
    ...(prefix !== undefined && { prefix }),
    ...(user !== undefined && password !== undefined && { user, password }),
    ...(etcdCaFile !== undefined && { tls: { ca: readFileSync(etcdCaFile) } }),
  });
}
