type LogMethod = (details: object, message: string) => void;

/** Where the package writes what it notices. A pino logger fits. */
export interface CastLogger {
  debug?: LogMethod;
  info?: LogMethod;
  warn?: LogMethod;
  error?: LogMethod;
}
