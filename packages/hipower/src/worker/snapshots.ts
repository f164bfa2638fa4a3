import { Layout, type MemoryRegion, type SubmissionQueue } from '@rdmc/verbs';
import { MAX_PUSHES } from '../constants.js';
import { BOARD_STRIDE } from '../layout/board.js';
import { BoardIndex, type BoardView, boardView } from '../layout/boards-region.js';

/**
 * Copies of R at the time when a push is posted. The live words must not be pushed: when the device reads them they may
 * have a bit whose payload is queued behind. Short boards are inline in the request, others are in a staging place
 * that does not change until the push has completed: there are as many places as outstanding pushes.
 */
export class Snapshots {
  readonly #staged: BoardView[] = [];
  readonly #address: number;
  #next = 0;

  /** `offset`: where the peer's boards begin in the region. */
  constructor(
    private readonly region: MemoryRegion,
    offset: number,
    private readonly live: Uint8Array,
  ) {
    const begin = offset + BoardIndex.STAGED * BOARD_STRIDE;
    this.#address = region.address + begin;
    if (live.byteLength <= Layout.MAX_INLINE_BYTES) return;
    const view = region.view();
    for (let i = 0; i < MAX_PUSHES; i += 1) {
      this.#staged.push(boardView(view, begin + i * BOARD_STRIDE, live.byteLength));
    }
  }

  /** Adds a snapshot to the request that was begun last. */
  addTo(submission: SubmissionQueue): void {
    if (this.#staged.length === 0) {
      submission.inline(this.live);
      return;
    }
    const index = this.#next;
    this.#next = (index + 1) % MAX_PUSHES;
    this.#staged[index]!.bytes.set(this.live);
    submission.sge(this.#address + index * BOARD_STRIDE, this.live.byteLength, this.region.lkey);
  }
}
