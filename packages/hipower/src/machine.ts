/*
 * The entry `@rdmc/hipower/machine`: the state machines of both ends of a channel without devices, for programs that run them
 * over simulated hardware. Internal to this repository: it may change in any release.
 */
export { FOOTER_BYTES, footerIndex, slotStride } from './layout/footer.js';
export { wordsFor } from './machine/bits.js';
export { refreshLimit } from './machine/refresh-rule.js';
export { RequesterMachine } from './machine/requester-machine.js';
export { type Deliveries, ResponderMachine } from './machine/responder-machine.js';
