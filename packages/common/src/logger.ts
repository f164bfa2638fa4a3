/** Takes details and words, as pino does. `console` fits as well. Methods may be missing. */
export interface Logger {
  /** Details for the search for a fault. */
  debug?(details: object, message: string): void;
  /** An event of normal operation. */
  info?(details: object, message: string): void;
  /** A problem that the program handles. */
  warn?(details: object, message: string): void;
  /** A failure. */
  error?(details: object, message: string): void;
}
