import { createPalette, type Palette, wantsColour } from './palette.js';

export const DEFAULT_COLUMNS = 110;
export const DEFAULT_ROWS = 24;

/** The output of a command: results go to `out`, everything else to `note`. */
export interface Terminal {
  readonly palette: Palette;
  /** Columns of the terminal, or a default. */
  readonly columns: number;
  /** Rows of the terminal, or a default. */
  readonly rows: number;
  /** Whether stdout is a terminal, for progress bars and colours. */
  readonly interactive: boolean;
  out(...lines: readonly string[]): void;
  /** Prints lines to stderr. */
  note(...lines: readonly string[]): void;
  /** Prints one JSON document, indented on a terminal. */
  json(document: unknown): void;
  /** Prints one JSON document on one line, for streams of events. */
  line(document: unknown): void;
}

/** For a command whose standard output has the bytes of a file: its lines go to stderr. */
export function withoutStandardOutput(terminal: Terminal): Terminal {
  const { note } = terminal;
  return {
    ...terminal,
    palette: createPalette(wantsColour(process.stderr, process.env)),
    interactive: false,
    out: note,
  };
}

export function createTerminal(): Terminal {
  const { stdout, stderr } = process;
  const interactive = Boolean(stdout.isTTY);
  return {
    palette: createPalette(wantsColour(stdout, process.env)),
    // A terminal of unknown size reports 0. Windows change their size while a command runs.
    get columns() {
      return stdout.columns || DEFAULT_COLUMNS;
    },
    get rows() {
      return stdout.rows || DEFAULT_ROWS;
    },
    interactive,
    out: (...lines) => void stdout.write(`${lines.join('\n')}\n`),
    note: (...lines) => void stderr.write(`${lines.join('\n')}\n`),
    json: (document) => void stdout.write(`${JSON.stringify(document, null, interactive ? 2 : 0)}\n`),
    line: (document) => void stdout.write(`${JSON.stringify(document)}\n`),
  };
}
