import { Deadline, type Logger, onAbort, SerialQueue } from '@rdmc/common';
import { messageOf, protocolError } from '../errors.js';
import type { ServerFrameOf } from './frames.js';
import type { PieceLeader } from './piece-leader.js';
import type { Opened } from './pull-session.js';

export interface ServeOnParts {
  readonly durationMs: number;
  /** Ends it at once. */
  readonly signal: AbortSignal;
  readonly logger: Logger | undefined;
  /** Joins the mesh: this end lacked nothing, so it has not joined yet. */
  readonly join: (frame: ServerFrameOf<'mesh'>) => Promise<void>;
  /** Called when the mesh has been joined. */
  readonly newLeader: () => PieceLeader;
}

/**
 * A fetch is complete, and this end serves on: it leads runs as the server tells it, until the time is over, or the server lets
 * it go. Resolves when no run is in progress.
 */
export async function serveOn({ channel, frames }: Opened, parts: ServeOnParts): Promise<void> {
  const { durationMs, signal, logger, join, newLeader } = parts;
  const leading = new SerialQueue();
  let leader: PieceLeader | undefined;
  const lead = async (frame: ServerFrameOf<'lead'>): Promise<void> => {
    let isWhole = false;
    try {
      await leader!.lead(frame);
      isWhole = true;
    } catch (error) {
      logger?.debug?.({ run: frame.run, reason: messageOf(error) }, 'a group that this end led has failed');
    }
    channel.send({ type: 'led', run: frame.run, isWhole });
  };
  const follow = async (): Promise<void> => {
    for (;;) {
      const { value: frame, done } = await frames.next();
      if (done || frame.type === 'abort') return;
      if (frame.type === 'mesh') await join(frame);
      else if (frame.type === 'pieces') {
        leader ??= newLeader();
        leader.pieces(frame);
      } else if (frame.type === 'lead' && leader) void leading.run(() => lead(frame));
      else if (frame.type === 'stop') leader?.stop(frame);
      else if (frame.type !== 'pulse' && frame.type !== 'withdrawn' && frame.type !== 'part')
        throw protocolError(`the server sent an unexpected '${frame.type}'`);
    }
  };
  let deadline: Deadline | undefined;
  const over = new Promise<void>((resolve) => {
    deadline = new Deadline({ timeoutMs: durationMs }, () => resolve());
  });
  let forget = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    forget = onAbort(signal, resolve);
  });
  const followed = follow().catch((error: unknown) => {
    logger?.debug?.({ reason: messageOf(error) }, 'this end does not serve on any more');
  });
  await Promise.race([followed, over, aborted]);
  deadline?.clear();
  forget();
  leader?.finish();
  await leading.idle();
}
