import { EventEmitter } from 'node:events';

/** A socket that the system reads at once, or when it is told to. */
export class FakeSocket extends EventEmitter {
  readonly written: string[] = [];
  destroyed = false;
  writableLength = 0;
  #isPaused = false;

  constructor(private readonly isRead = true) {
    super();
  }

  setNoDelay(): void {}
  cork(): void {}
  uncork(): void {}

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  end(): void {}

  destroy(): void {
    this.destroyed = true;
  }

  write(bytes: Buffer): void {
    this.written.push(bytes.toString('latin1'));
    if (!this.isRead) this.writableLength += bytes.length;
  }

  /** The other side reads what was written. */
  drain(): string {
    this.writableLength = 0;
    const text = this.written.splice(0).join('');
    this.emit('drain');
    return text;
  }
}
