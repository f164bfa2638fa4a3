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
 * A row is a line of 64 bytes. Words of 32 bits, little endian:
 *
 *   word   0            1      2          3       4           5         6         7        8      9      10         11
 *         +------------+------+----------+-------+-----------+---------+---------+--------+------+------+----------+-------+
 *         | COUNT      | zero | SEQUENCE | FLAGS | SUSPECTED | FROZEN  | FROZEN  | BALLOT | TRIM | TRIM | EXCLUDED | CHECK |
 *         | mod 2^32   |      |          |       | set       | low     | high    |        | low  | high | set      | CRC   |
 *         +------------+------+----------+-------+-----------+---------+---------+--------+------+------+----------+-------+
 *          while open           the state: after the first failure. Words 12 to 15 are zero.
 *
 *   COUNT      messages that the member has whole and in order. One aligned store of 4 bytes, after the messages that it
 *              counts are in memory. It is not torn, and a later value replaces an earlier one.
 *   SEQUENCE   number of the state; 0: there is none. FLAGS: bit 0 wedged, bit 1 decided.
 *   CHECK      CRC-32 of words 2 to 10. A state that was read while it was written does not fit it, in whatever order a device
 *              places the bytes. The reader keeps the former state then; the notice of the WRITE that was under way follows.
 *
 * One WRITE carries the whole row, and its immediate wakes the reader. A member has at most one such WRITE under way for each
 * other member; when it completes, and the row has changed meanwhile, the next one follows. So the number of WRITEs
 * adapts to the speed of the members, and not to that of the messages. Members that do not deliver (the root) get a row only
 * when its state changes.
 *
 * Behind its own row, a member has words that its two threads share, each in a line of its own:
 *
 *   word  16  KICKED   1: the worker was notified of a change of the row (application sets, worker clears before it looks)
 *         32  TOLD     1: the application was notified of changed rows (worker sets, application clears before it looks)
 */
export const RowWord = {
  COUNT: 0,
  SEQUENCE: 2,
  FLAGS: 3,
  SUSPECTED: 4,
  FROZEN: 5,
  BALLOT: 7,
  TRIM: 8,
  EXCLUDED: 10,
  CHECK: 11,
} as const;
export const RowFlag = { WEDGED: 1, DECIDED: 2 } as const;

export const ROW_BYTES = 64;

export const TableControl = { KICKED: 16, TOLD: 32 } as const;
/** A member's own row, and the words behind it. */
export const OWN_ROW_BYTES = 48 * 4;
