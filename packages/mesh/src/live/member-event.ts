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
  | (EventHead & { readonly type: 'joined' })
  | (EventHead & { readonly type: 'lost'; readonly code: string; readonly reason: string })
  | (EventHead & { readonly type: 'left' });
