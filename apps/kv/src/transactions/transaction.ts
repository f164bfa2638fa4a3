import { MAX_ARGUMENTS, MAX_COMMAND_BYTES } from '../limits.js';

/** What a word takes of the request beside its bytes, at most. */
const WORD_OVERHEAD_BYTES = 16;
/** A token, likewise. */
const TOKEN_BYTES = 64;

/**
 * The commands that a client queues between MULTI and EXEC, and the keys that it watches. All of it is at the client's server
 * until EXEC; then one request has everything, and goes to the server of the keys like any other command.
 */
export class Transaction {
  /** After MULTI. */
  isOpen = false;
  /** A command was refused: EXEC will be too. */
  isBroken = false;
  /** Keys lie in different slots. */
  isCrossSlot = false;
  /** A queued command is a write. */
  writes = false;
  /** The slot of the keys; −1: there was no key. */
  slot = -1;
  /** A key in that slot. */
  key = '';
  /** Of each watched key, the token of what it was. */
  readonly watched = new Map<string, string>();
  /** The words of each command; one character is one byte. */
  readonly commands: (readonly string[])[] = [];
  /** What the request takes. */
  bytes = 0;
  #words = 0;

  /** Whether the request may have a command more, with so many words and bytes. */
  hasRoom(words: number, bytes: number): boolean {
    const all = this.#words + words;
    // Each command has one word more: their number.
    return 2 * all < MAX_ARGUMENTS && this.bytes + bytes + WORD_OVERHEAD_BYTES * 2 * all < MAX_COMMAND_BYTES;
  }

  queue(words: readonly string[], bytes: number, isWrite: boolean): void {
    this.commands.push(words);
    this.bytes += bytes;
    this.#words += words.length;
    if (isWrite) this.writes = true;
  }

  /** @param token of what the key is now */
  watch(key: string, token: string): void {
    this.watched.set(key, token);
    this.bytes += key.length + TOKEN_BYTES;
    this.#words += 2;
  }

  /** Counts a key's slot. */
  touch(slot: number, key: string): void {
    if (this.slot < 0) {
      this.slot = slot;
      this.key = key;
    } else if (this.slot !== slot) this.isCrossSlot = true;
  }
}
