import { messageOf } from '../errors.js';
import type { FileSource } from '../reader/file-source.js';
import type { PieceList } from './piece-list.js';
import type { PieceMap } from './piece-map.js';
import type { PieceSource } from './piece-packer.js';
import type { ChangedFile } from './reader-orders.js';
import { ServedTree } from './served-tree.js';

/**
 * The pieces of a fetch that is complete, as they are in its directory. They are not compared with the list: the fetchers that get
 * them do that, whoever sends them.
 */
export class LeadSource implements PieceSource {
  readonly #tree: ServedTree;
  /** By number of the file in the map. */
  #open: { readonly file: number; readonly source: FileSource } | undefined;

  /** @throws errors of the system, where the directory cannot be opened */
  constructor(
    directory: string,
    private readonly list: PieceList,
  ) {
    this.#tree = ServedTree.open(directory, Buffer.alloc(0));
  }

  get map(): PieceMap {
    return this.list.map;
  }

  read(piece: number, target: Buffer): ChangedFile | undefined {
    const { entry, first, pieces } = this.map.fileOf(piece);
    const gone = (message: string): ChangedFile => ({ entry, first, pieces, message });
    try {
      return this.#source(piece).read(target, this.map.offsetOf(piece))
        ? undefined
        : gone('it became shorter');
    } catch (error) {
      return gone(messageOf(error));
    }
  }

  close(): void {
    this.#closeFile();
    this.#tree.close();
  }

  #closeFile(): void {
    this.#open?.source.close();
    this.#open = undefined;
  }

  #source(piece: number): FileSource {
    const file = this.map.fileNumber(piece);
    if (this.#open?.file !== file) {
      this.#closeFile();
      const { path } = this.list.entries[this.map.fileOf(piece).entry]!;
      this.#open = { file, source: this.#tree.open(path) };
    }
    return this.#open.source;
  }
}
