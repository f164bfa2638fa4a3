import { within } from '@rdmc/common';
import type {
  CompletionChannel,
  CompletionQueue,
  Device,
  MemoryRegion,
  ProtectionDomain,
  QueuePair,
  WorkCompletion,
} from '@rdmc/verbs';
import { ComplianceError } from '../errors.js';
import { LIMIT_MS, waitFor } from '../wait.js';

/** A completion queue with completions that were polled and not requested yet. */
export interface QueueState {
  readonly queue: CompletionQueue;
  readonly backlog: WorkCompletion[];
}

/** A channel with the number of events it has delivered. */
export class ChannelState {
  events = 0;
  #wake: (() => void) | undefined;

  constructor(readonly channel: CompletionChannel) {
    channel.onEvent(() => {
      this.events += 1;
      this.#wake?.();
    });
  }

  /** Sleeps until more than `seen` events have come. @throws ERR_RDMC_COMPLIANCE_TIMEOUT */
  async sleep(seen: number, limitMs = LIMIT_MS): Promise<void> {
    if (this.events > seen) return;
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const message = `Not within ${limitMs} ms: event ${seen + 1} of the channel`;
    const late = () => new ComplianceError('ERR_RDMC_COMPLIANCE_TIMEOUT', message);
    await within(woken, { timeoutMs: limitMs, late });
  }
}

interface Kinds {
  device: Device;
  pd: ProtectionDomain;
  region: MemoryRegion;
  channel: ChannelState;
  cq: QueueState;
  qp: QueuePair;
}
export type Kind = keyof Kinds;

/** Objects before the objects that they use. */
const CLOSING_ORDER: readonly Kind[] = ['qp', 'region', 'cq', 'channel', 'pd', 'device'];
const CLOSE_LIMIT_MS = 20_000;

/** Everything that an agent has open, by number: messages carry numbers, not objects. */
export class AgentState {
  readonly #objects = new Map<number, { kind: Kind; object: Kinds[Kind] }>();
  #next = 1;

  add<K extends Kind>(kind: K, object: Kinds[K]): number {
    const handle = this.#next++;
    this.#objects.set(handle, { kind, object });
    return handle;
  }

  get<K extends Kind>(kind: K, handle: number): Kinds[K] {
    const entry = this.#objects.get(handle);
    if (entry?.kind !== kind) {
      throw new ComplianceError('ERR_RDMC_COMPLIANCE_SPEC', `Number ${handle} is not a ${kind} of this peer`);
    }
    return entry.object as Kinds[K];
  }

  async close(handle: number): Promise<void> {
    const entry = this.#objects.get(handle);
    if (entry) await closeObject(entry.kind, entry.object);
  }

  /** Closes everything but the devices in `keep`, and drops it even if closing fails. */
  async reset(keep: readonly number[]): Promise<void> {
    const failures: unknown[] = [];
    for (const kind of CLOSING_ORDER) {
      const handles = [...this.#objects].filter(([handle, entry]) => {
        return entry.kind === kind && !keep.includes(handle);
      });
      for (const [handle, entry] of handles.reverse()) {
        this.#objects.delete(handle);
        await closeWhenFree(entry.kind, entry.object).catch((error) => failures.push(error));
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Cleaning up waits for a device that frees objects a little later; a separate test checks that it does not need to. */
function closeWhenFree(kind: Kind, object: Kinds[Kind]): Promise<true> {
  return waitFor(
    () => `a ${kind} to be free`,
    async () => {
      try {
        await closeObject(kind, object);
        return true;
      } catch (error) {
        const { code } = error as { code?: string };
        if (code?.endsWith('_BUSY')) return undefined;
        throw error;
      }
    },
    CLOSE_LIMIT_MS,
  );
}

function closeObject(kind: Kind, object: Kinds[Kind]): Promise<void> {
  if (kind === 'cq') return (object as QueueState).queue.close();
  if (kind === 'channel') return (object as ChannelState).channel.close();
  if (kind === 'region') {
    return (object as MemoryRegion).close({ signal: AbortSignal.timeout(CLOSE_LIMIT_MS) });
  }
  return (object as Device | ProtectionDomain | QueuePair).close();
}
