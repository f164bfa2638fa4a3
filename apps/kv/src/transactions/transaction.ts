import { MAX_ARGUMENTS, MAX_COMMAND_BYTES } from '../limits.js';

/** What a word takes of the request beside its bytes, at most. */
const WORD_OVERHEAD_BYTES = 16;
/** A token, likewise. */
const TOKEN_BYTES = 64;
/** What a word and a command take of memory beside their bytes: short commands take many times the bytes that arrived. */
const [HELD_WORD_BYTES, HELD_COMMAND_BYTES] = [40, 64] as const;

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
  commands: (readonly string[])[] = [];
  /** What the request takes. */
  bytes = 0;
  #words = 0;

  /** What it takes of this server's memory. */
  get heldBytes(): number {
    return this.bytes + HELD_WORD_BYTES * this.#words + HELD_COMMAND_BYTES * this.commands.length;
  }

  /** Whether the request may have a command more, with so many words and bytes. */
  hasRoom(words: number, bytes: number): boolean {
    const all = this.#words + words;
    // Each command has one word more: their number.
    return 2 * all < MAX_ARGUMENTS && this.bytes + bytes + WORD_OVERHEAD_BYTES * 2 * all < MAX_COMMAND_BYTES;
  }

  /** EXEC will be refused: the commands before and those that come are not kept. */
  breakOff(): void {
    this.isBroken = true;
    this.commands = [];
    this.bytes = 0;
    this.#words = 0;
  }

  queue(words: readonly string[], bytes: number, isWrite: boolean): void {
    if (this.isBroken) return;
    this.commands.push(words);
    this.bytes += bytes;
    this.#words += words.length;
    if (isWrite) this.writes = true;
  }

  /**
   * A key that is watched stays so from the first time on.
   * @param token the reply of `rdmc.watch` for the key: it identifies the key's present value, see internal-commands.ts
   */
  watch(key: string, token: string): void {
    if (this.watched.has(key)) return;
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
