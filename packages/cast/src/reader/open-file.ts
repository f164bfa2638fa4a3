import { type FileEntry, inSource, sourceOf } from './entries.js';
import { FileSource, type ReadHook } from './file-source.js';

/** Opens the file of an entry. @throws as `SourceTree.at`; CastError ERR_RDMC_FILE_CHANGED */
export function openFile(entry: FileEntry, hook?: ReadHook): FileSource {
  return inSource(entry, (place) => new FileSource(place, hook, sourceOf(entry)));
}
