import { MeshError, protocolError } from '../errors.js';
import { type Frame, FrameType } from '../frames.js';
import { decodeReject, type Reject } from '../hello.js';
import type { Link } from '../link.js';
import type { Messaging } from '../messaging.js';
import { decodeStop } from './frames.js';
import type { RosterExchange } from './roster-exchange.js';

export interface LinkFramesContext {
  readonly rosters: RosterExchange;
  readonly messaging: Messaging;
  /** The peer leaves. */
  leaves(link: Link): void;
  /** The peer says that this process does not have its id any more, or that it refuses for another reason. */
  told(reject: Pick<Reject, 'code' | 'message' | 'holder'>): void;
}

/** Dispatches each frame of a peer to the part of the member that handles it. */
export class LinkFrames {
  constructor(private readonly context: LinkFramesContext) {}

  /** @throws MeshError for a frame that ends the link */
  take(link: Link, { type, payload }: Frame): void {
    const { rosters, messaging } = this.context;
    switch (type) {
      case FrameType.HEARTBEAT:
        rosters.heard(link, payload);
        break;
      case FrameType.MESSAGE:
      case FrameType.REQUEST:
      case FrameType.REPLY:
        messaging.receive(link.peer, { type, payload });
        break;
      case FrameType.ROSTER:
        rosters.received(link, payload);
        break;
      case FrameType.LEAVE:
        this.context.leaves(link);
        break;
      case FrameType.REJECT: {
        // The other end refused between this member's HELLO and its CONFIRM.
        const reject = decodeReject(payload);
        this.context.told(reject);
        throw new MeshError('ERR_RDMC_MESH_MEMBER_LOST', `it refused: ${reject.message}`);
      }
      case FrameType.STOP:
        this.context.told(decodeStop(payload));
        break;
      default:
        throw protocolError(`member ${link.peer} sent frame type ${type}, which is not valid here`);
    }
  }
}
