import type { ComparisonPolicy } from '../manifest/policy.js';
import type { TemporaryDirectory } from '../writer/temporary-directory.js';
import { expireKept, freeBytesOf } from './kept-data.js';
import { KeptStore } from './kept-store.js';
import type { ResumeLimit } from './resume-limit.js';
import type { Keeping } from './sink-target.js';

/** How a receiver keeps what interrupted casts have left. */
export interface ResumePort {
  readonly limit: ResumeLimit;
  /** Whether messages are authenticated one by one, as encrypted ones are. */
  readonly authenticated: boolean;
  /** Bytes that the cast needs, as far as they are known before entries are compared. */
  readonly neededBytes: number;
}

/** What one cast takes from interrupted ones, and what it leaves when it is interrupted itself. */
export class Resumption {
  /** Undefined where this cast leaves nothing. */
  readonly keeping: Keeping | undefined;
  /** Undefined where the receiver keeps nothing. */
  readonly store: KeptStore | undefined;

  readonly #isDryRun: boolean;

  /** @throws errors of the system */
  constructor(
    private readonly root: number,
    private readonly temporary: TemporaryDirectory,
    private readonly port: ResumePort | undefined,
    policy: ComparisonPolicy | undefined,
    durable: boolean,
  ) {
    this.#isDryRun = policy?.dryRun === true;
    const isOn = port !== undefined && policy?.resume === true && !policy.dryRun;
    if (!isOn) temporary.markUseless();
    if (!port) return;
    const { authenticated, neededBytes } = port;
    // Equal contents are wanted, not equal sizes and times: so contents are compared.
    const mayTrust = isOn && policy.by !== 'content';
    this.keeping = isOn ? { authenticated, durable, root } : undefined;
    this.store = new KeptStore(root, temporary.descriptor, { mayTake: isOn, mayTrust, durable });
    this.makeRoom(neededBytes);
  }

  /** Bytes that can be stored. */
  get freeBytes(): number {
    return this.store?.freeBytes ?? freeBytesOf(this.root);
  }

  /** Bytes that are free without the removal of leftovers. */
  get unusedBytes(): number {
    return freeBytesOf(this.root);
  }

  /** Removes leftovers, the oldest first, until there is room for so many bytes. A dry run removes nothing. */
  makeRoom(neededBytes: number): void {
    if (!this.#isDryRun) this.store?.makeRoom(neededBytes);
  }

  /**
   * The cast is over.
   * @param isWhole whether a later one has nothing to continue
   * @param active called for each entry that is kept
   * @throws errors of the system
   */
  end(isWhole: boolean, active: () => void): void {
    this.store?.close();
    if (isWhole || !this.keeping) {
      this.temporary.remove();
      return;
    }
    this.temporary.keep(active);
    expireKept(this.root, this.port!.limit);
  }
}
