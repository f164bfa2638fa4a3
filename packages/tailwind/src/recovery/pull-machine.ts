import type { TailwindError } from '../errors.js';
import type { DividedSegment, Division } from './division.js';
import { incomplete } from './plan.js';

/** A request of an heir to a backup, for its part of a segment. */
export interface PullRequest {
  /** The segment. */
  readonly segmentId: bigint;
  /** The backup. */
  readonly source: number;
}

interface Wanted extends DividedSegment {
  /** Position in `sources` of the member to ask, or that was asked. */
  position: number;
  state: 'waiting' | 'asked' | 'arrived';
  readonly reasons: string[];
}

/**
 * What one heir has of its part of a dead log: which backup to ask for which segment, and whether all segments have arrived.
 * Only then may it say that it has its part. Pure; belongs to one attempt.
 */
export class PullMachine {
  private readonly wanted = new Map<bigint, Wanted>();
  private readonly logId: bigint;
  private readonly attempt: number;
  private left: number;

  /** @param window requests to one backup at a time */
  constructor(
    { logId, attempt, segments }: Division,
    private readonly window: number,
  ) {
    this.logId = logId;
    this.attempt = attempt;
    for (const segment of segments) {
      this.wanted.set(segment.segmentId, { ...segment, position: 0, state: 'waiting', reasons: [] });
    }
    this.left = segments.length;
  }

  /** All segments have arrived. */
  get isComplete(): boolean {
    return this.left === 0;
  }

  /**
   * The requests to send now; they count as sent.
   * @throws TailwindError ERR_RDMC_LOG_INCOMPLETE where every source of a segment has failed
   */
  next(): PullRequest[] {
    const asked = new Map<number, number>();
    for (const { state, sources, position } of this.wanted.values()) {
      if (state === 'asked') asked.set(sources[position]!, (asked.get(sources[position]!) ?? 0) + 1);
    }
    const requests: PullRequest[] = [];
    for (const wanted of this.wanted.values()) {
      if (wanted.state !== 'waiting') continue;
      const source = wanted.sources[wanted.position];
      if (source === undefined) throw this.exhausted(wanted);
      const count = asked.get(source) ?? 0;
      if (count >= this.window) continue;
      asked.set(source, count + 1);
      wanted.state = 'asked';
      requests.push({ segmentId: wanted.segmentId, source });
    }
    return requests;
  }

  /** This heir's part of a segment is here. Returns false where it does not count: of another attempt, or a second time. */
  arrived(attempt: number, segmentId: bigint): boolean {
    const wanted = this.wanted.get(segmentId);
    if (attempt !== this.attempt || wanted?.state !== 'asked') return false;
    wanted.state = 'arrived';
    this.left -= 1;
    return true;
  }

  /** A source does not give the part: the next one is asked. */
  failed({ segmentId, source }: PullRequest, reason: string): void {
    const wanted = this.wanted.get(segmentId);
    if (wanted?.state !== 'asked' || wanted.sources[wanted.position] !== source) return;
    wanted.reasons.push(`member ${source}: ${reason}`);
    wanted.position += 1;
    wanted.state = 'waiting';
  }

  private exhausted({ segmentId, reasons }: Wanted): TailwindError {
    return incomplete(this.logId, [segmentId], ` (${reasons.join('; ') || 'no backup has it'})`);
  }
}
