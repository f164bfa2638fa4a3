/** What happens to the connection with a peer. Epochs count the connections with one incarnation of it. */
interface EventHead {
  readonly member: number;
  /** The peer's incarnation; 0 in a mesh with a fixed list. */
  readonly incarnation: number;
  readonly epoch: number;
}

/**
 * The events of one peer come as `joined`, then `lost` or `left`, then the next `joined`, which has a higher incarnation or,
 * with the same incarnation, a higher epoch.
 */
export type MemberEvent =
  | (EventHead & {
      /** Connected: requests to the peer work. */
      readonly type: 'joined';
    })
  | (EventHead & {
      /** The connection ended, and the peer has not left. */
      readonly type: 'lost';
      /** Why: the stable code of the error. */
      readonly code: string;
      /** Why, for people; it may change. */
      readonly reason: string;
    })
  | (EventHead & {
      /** The peer left: it closed its mesh, or its incarnation was retired from the roster. */
      readonly type: 'left';
    });
