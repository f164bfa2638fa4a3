import type { GroupProgress } from '@rdmc/group';

/** An error of a member, in a message to its parent. */
export interface RemoteError {
  readonly name?: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly memberId?: number | undefined;
  readonly missing?: readonly unknown[] | undefined;
  readonly field?: string | undefined;
  readonly reason?: string | undefined;
}

interface Stamped {
  /** Milliseconds of the machine's monotonic clock. */
  readonly at: number;
}

/** Events of members. */
export type MemberEvent = Stamped &
  (
    | {
        readonly event: 'ready';
        /** Threads of Node before our code runs. */
        readonly threads: readonly string[];
      }
    | { readonly event: 'sending'; readonly group: number }
    | { readonly event: 'stalled'; readonly group: number; readonly byteLength: number }
    | {
        readonly event: 'message';
        readonly group: number;
        readonly number: number;
        readonly byteLength: number;
        readonly arrivedAt: number;
        readonly sha256?: string;
        readonly differsAt?: number;
      }
    | { readonly event: 'end'; readonly group: number; readonly error: RemoteError | null }
    | {
        readonly event: 'memberFailed';
        readonly member: number;
        readonly code: string;
        readonly reason: string;
        readonly reporter: number;
      }
    | { readonly event: 'memberLeft'; readonly member: number }
  );

/** Result of one awaited operation. */
export interface Outcome extends Stamped {
  readonly error: RemoteError | null;
}

export interface Closed extends Outcome {
  readonly progress: GroupProgress;
}

export interface Reached extends Stamped {
  readonly progress: GroupProgress;
}

export interface SystemFacts {
  readonly ticks: Record<string, number>;
  readonly memory: Record<string, number>;
  readonly descriptors: number;
  readonly ports: readonly number[];
  readonly namedMemory: readonly string[];
  readonly mappedBytes: number;
}
