/*
 * The table of a group with stable delivery. Every member has a table with a row of each member, and writes its own row into
 * the tables of the others, with one-sided WRITEs. So it can look at all rows without asking anybody.
 *
 *   member 0              member 1              member 2
 *   row of 0 ──WRITE────▶ row of 0       ┌────▶ row of 0      each row in a region of its own: only its member gets the key
 *   row of 1 ◀──────────  row of 1 ──────┼────▶ row of 1
 *   row of 2 ◀────────────row of 2 ◀─────┼───── row of 2
 *        └───────────────────────────────┘
 *
 * A row is a whole number of lines of 64 bytes: one line in a group of one sender. Words of 32 bits, little endian. With S
 * senders, C is S rounded up to an even number:
 *
 *   word   0 .. S-1     C          C+1     C+2         C+3 .. C+2+2S   C+3+2S   C+4+2S .. C+3+4S  C+4+4S     C+5+4S
 *         +------------+----------+-------+-----------+---------------+--------+-----------------+----------+-------+
 *         | COUNT      | SEQUENCE | FLAGS | SUSPECTED | FROZEN        | BALLOT | TRIM            | EXCLUDED | CHECK |
 *         | mod 2^32   |          |       | set       | S × low, high |        | S × low, high   | set      | CRC   |
 *         +------------+----------+-------+-----------+---------------+--------+-----------------+----------+-------+
 *          while open   the state: after the first failure. Words that are not named are zero.
 *
 *   COUNT      of each sender: messages that the member has whole and in order. Each is one aligned store of 4 bytes, after the
 *              messages that it counts are in memory. It is not torn, and a later value replaces an earlier one.
 *   SEQUENCE   number of the state; 0: there is none. FLAGS: bit 0 wedged, bit 1 decided.
 *   CHECK      CRC-32 of the words from SEQUENCE to EXCLUDED. A state that was read while it was written does not fit it, in
 *              whatever order a device places the bytes. The reader keeps the former state then; the notice of the WRITE that
 *              was under way follows.
 *
 * One WRITE carries the whole row, and its immediate wakes the reader. A member has at most one such WRITE under way for each
 * other member; when it completes, and the row has changed meanwhile, the next one follows. So the number of WRITEs
 * adapts to the speed of the members, and not to that of the messages. Members that do not deliver (the root) get a row only
 * when its state changes.
 *
 * Behind its own row, a member has words that its two threads share, each in a line of its own:
 *
 *   line  0   KICKED   1: the worker was notified of a change of the row (application sets, worker clears before it looks)
 *         1   TOLD     1: the application was notified of changed rows (worker sets, application clears before it looks)
 */
const LINE_WORDS = 16;

export const RowFlag = { WEDGED: 1, DECIDED: 2 } as const;

/** The words of a row, by index. */
export interface RowLayout {
  readonly senders: number;
  /** Of the first sender; those of the others follow. */
  readonly count: number;
  readonly sequence: number;
  readonly flags: number;
  readonly suspected: number;
  /** Of the first sender, two words each. */
  readonly frozen: number;
  readonly ballot: number;
  readonly trim: number;
  readonly excluded: number;
  readonly check: number;
  readonly rowBytes: number;
  /** Behind a member's own row. */
  readonly kicked: number;
  readonly told: number;
  /** The row with these words. */
  readonly ownBytes: number;
}

/** The layout of the rows of a group of so many senders: 1 to 16. */
export function rowLayout(senders: number): RowLayout {
  const sequence = Math.ceil(senders / 2) * 2;
  const frozen = sequence + 3;
  const ballot = frozen + 2 * senders;
  const trim = ballot + 1;
  const excluded = trim + 2 * senders;
  const check = excluded + 1;
  const kicked = Math.ceil((check + 1) / LINE_WORDS) * LINE_WORDS;
  const told = kicked + LINE_WORDS;
  return {
    ...{ senders, count: 0, sequence, flags: sequence + 1, suspected: sequence + 2 },
    ...{ frozen, ballot, trim, excluded, check, rowBytes: kicked * 4 },
    ...{ kicked, told, ownBytes: (told + LINE_WORDS) * 4 },
  };
}
