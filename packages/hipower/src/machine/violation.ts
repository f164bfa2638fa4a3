export type ViolationCode =
  | 'ERR_RDMC_HIPOWER_BITMAP'
  | 'ERR_RDMC_HIPOWER_FOOTER'
  | 'ERR_RDMC_HIPOWER_GENERATION'
  | 'ERR_RDMC_HIPOWER_INCOMPLETE'
  | 'ERR_RDMC_HIPOWER_PROTOCOL';

/** The peer wrote invalid data, or memory is damaged. The channel stops, and the data is not consumed. */
export class Violation extends Error {
  override readonly name = 'Violation';
  constructor(
    readonly code: ViolationCode,
    message: string,
  ) {
    super(message);
  }
}
