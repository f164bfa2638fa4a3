/** Takes details and words, as pino does. `console` fits as well. Methods may be missing. */
export interface Logger {
  debug?(details: object, message: string): void;
  info?(details: object, message: string): void;
  warn?(details: object, message: string): void;
  error?(details: object, message: string): void;
}
