import type { Session } from '../commands/session.js';

/** The session of forwarded commands. Commands about a connection are not forwarded. */
export const INTERNAL_SESSION: Session = Object.freeze({
  id: 0,
  version: 2,
  name: '',
  authenticated: true,
  address: '',
  quit() {},
});
