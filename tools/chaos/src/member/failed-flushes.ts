/** A logger for a backup that counts how often it could not write a replica to its disk. */
export class FailedFlushes {
  count = 0;

  warn(_: object, message: string): void {
    if (message.startsWith('a flush failed')) this.count += 1;
  }
}
