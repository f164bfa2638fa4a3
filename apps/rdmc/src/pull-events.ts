/** The lines that `rdmc serve` and `fetch` print with `--json`; see documents.ts. */
import type { Listening, Problem } from './event-parts.js';

/** The fetch, its fetcher, the name that it asked for, and regular files and bytes below that name. */
interface ServeFacts {
  fetchId: string;
  from: string;
  /** Empty for everything. */
  name: string;
  files: number;
  bytes: number;
}

/** One line of `rdmc serve --json`. */
export type ServeEvent =
  | (Listening & {
      /** What is served. */
      directory: string;
    })
  | (ServeFacts & {
      /** A fetcher has told what it has. */
      event: 'began';
      /** Pieces of at most 1 MiB below the name. */
      pieces: number;
      /** Those of them that the fetcher lacks. */
      lacking: number;
      /** Fetchers of the same name at this moment, this one included. */
      fetchers: number;
      /** Whether files are encrypted on their way. */
      encrypted: boolean;
    })
  | (ServeFacts & {
      /** About once a second. */
      event: 'progress';
      /** Bytes of pieces that the fetcher has stored, beside those that it had. */
      storedBytes: number;
    })
  | {
      /** What was sent to one group. */
      event: 'sent';
      /** The name that the fetchers asked for; empty for everything. */
      name: string;
      /** Fetchers in the group. */
      fetchers: number;
      /** The fetcher that sent in the place of the server; missing where the server sent. */
      leader?: string | undefined;
      /** Pieces that were sent once, to all of them. */
      pieces: number;
      /** Bytes of these pieces, with what encryption and numbers add. */
      bytes: number;
    }
  | (ServeFacts & {
      /** A fetcher has stored everything that it does not report as missing. */
      event: 'complete';
      /** Files that it stored. */
      storedFiles: number;
      /** Bytes that it stored. */
      storedBytes: number;
      /** Entries that it lacks. */
      problemCount: number;
      /** From the moment at which it asked. */
      seconds: number;
    })
  | (ServeFacts & {
      /** A fetch ended early. */
      event: 'failed';
      /** Why: a stable code. */
      code: string;
      /** Why, for people; it may change. */
      message: string;
    });

/** One line of `rdmc fetch --json`. */
export type FetchEvent =
  | {
      /** About five times a second. */
      event: 'progress';
      /** The stage of the fetch. */
      phase: 'connecting' | 'comparing' | 'receiving' | 'finishing' | 'serving' | 'done';
      /** Bytes of pieces that were missing here. */
      totalBytes: number;
      /** Those of them that are stored. */
      storedBytes: number;
      /** Members of the current group, the server included; 0 between groups. */
      members: number;
    }
  | {
      /** The fetch has ended. */
      event: 'finished';
      /** 0, or 6 where entries are missing. */
      exitCode: number;
      /** Root hash of what was fetched, in hexadecimal. */
      root: string;
      /** Regular files that were stored. */
      files: number;
      /** Sum of their sizes. */
      bytes: number;
      /** Directories of the served name. */
      directories: number;
      /** Bytes of pieces that were received. */
      receivedBytes: number;
      /** Regular files that were here already. */
      unchangedFiles: number;
      /** Sum of their sizes. */
      unchangedBytes: number;
      /** Of `bytes`, those that were taken from older files here. */
      keptBytes: number;
      /** Bytes that fetches and casts that ended early had left here. */
      resumedBytes: number;
      /** Links and special files, which are not served. */
      skipped: number;
      /** Whether files were encrypted on their way. */
      encrypted: boolean;
      /** Time of the whole fetch. */
      seconds: number;
      /** Entries that are missing here, at most 500. */
      problems: Problem[];
      /** All entries that are missing here. */
      problemCount: number;
    };
