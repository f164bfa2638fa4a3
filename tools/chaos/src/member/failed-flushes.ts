/** Counts how often a backup could not write a replica to its disk; given to it as its logger. */
export class FailedFlushes {
  count = 0;

  warn(_: object, message: string): void {
    if (message.startsWith('a flush failed')) this.count += 1;
  }
}
