export type ViolationCode =
  | 'ERR_RDMC_HIPOWER_BITMAP'
  | 'ERR_RDMC_HIPOWER_FOOTER'
  | 'ERR_RDMC_HIPOWER_GENERATION'
  | 'ERR_RDMC_HIPOWER_INCOMPLETE'
  | 'ERR_RDMC_HIPOWER_PROTOCOL';

/** The peer wrote what it must not, or the memory between is damaged. The channel stops; nothing is consumed of it. */
export class Violation extends Error {
  override readonly name = 'Violation';
  constructor(
    readonly code: ViolationCode,
    message: string,
  ) {
    super(message);
  }
}
