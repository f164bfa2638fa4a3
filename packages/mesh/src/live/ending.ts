import { setMaxListeners } from 'node:events';
import { isCodeOf, MeshError, meshErrors } from '../errors.js';
import type { Reject } from '../hello.js';
import { closedError } from '../join-errors.js';

/** Refusals after which this process stops. */
const STOP_CODES: ReadonlySet<string> = new Set(['ERR_RDMC_REPLACED', 'ERR_RDMC_MESH_EVICTED']);

/** The end of this process as a member: it leaves, or its id belongs to another process. */
export class Ending {
  readonly #controller = new AbortController();
  #reason: MeshError | undefined;

  /** @param stop called once, where the process does not have its id any more */
  constructor(
    private readonly id: number,
    private readonly stop: (error: MeshError) => void,
  ) {
    // Each introduction listens to it while it lasts.
    setMaxListeners(0, this.#controller.signal);
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** Aborted when this member has closed. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** @throws MeshError the reason of the end */
  assertOpen(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** A peer has told it why it refuses this process. */
  stopIfTold(told: Pick<Reject, 'code' | 'message' | 'holder'>): void {
    const { code, message, holder } = told;
    if (!STOP_CODES.has(code) || !isCodeOf(meshErrors, code)) return;
    this.stopWith(new MeshError(code, message, { memberId: this.id, holder }));
  }

  /** The id belongs to another process. */
  stopWith(error: MeshError): void {
    if (this.isOver) return;
    this.#reason = error;
    this.stop(error);
  }

  /** This member closes. The reason: that it was closed, unless it had to stop before. */
  close(): MeshError {
    this.#reason ??= closedError();
    this.#controller.abort(this.#reason);
    return this.#reason;
  }
}
