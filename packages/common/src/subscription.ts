/** A listener that is being called. `close()` ends it, as does the end of a block with `using`; both are idempotent. */
export interface Subscription extends Disposable {
  /** Ends the calls of the listener. Idempotent. */
  close(): void;
}

/** @param end removes the listener; called once */
export function subscription(end: () => void): Subscription {
  let open = true;
  const close = (): void => {
    if (!open) return;
    open = false;
    end();
  };
  return { close, [Symbol.dispose]: close };
}
