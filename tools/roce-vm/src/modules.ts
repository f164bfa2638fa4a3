import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { RoceVmError } from './errors.js';

/** 'kernel/fs/9p/9p.ko.xz' → '9p'; a module's name has underscores where its file may have hyphens. */
export function nameOf(path: string): string {
  return basename(path)
    .replace(/\.ko(\.\w+)?$/, '')
    .replaceAll('-', '_');
}

const SIGNATURE_MARK = '~Module signature appended~\n';
/** struct module_signature lies before the mark and ends with the signature's length, big endian. */
const SIGNATURE_HEADER_BYTES = 12;

/** A module without the signature that its builder appended. */
export function withoutSignature(module: Buffer): Buffer {
  const mark = module.length - SIGNATURE_MARK.length;
  if (mark < 0 || module.toString('latin1', mark) !== SIGNATURE_MARK) return module;
  return module.subarray(0, mark - SIGNATURE_HEADER_BYTES - module.readUInt32BE(mark - 4));
}

/** The tables of depmod: for each module its file and its dependencies, nearest first. */
export class ModuleIndex {
  readonly #needs = new Map<string, { path: string; needs: string[] }>();
  readonly #builtIn: Set<string>;

  constructor(readonly directory: string) {
    for (const line of readFileSync(join(directory, 'modules.dep'), 'utf8').split('\n')) {
      const [path, ...needs] = line.split(/:? +|:$/).filter(Boolean);
      if (path) this.#needs.set(nameOf(path), { path, needs });
    }
    const builtIn = join(directory, 'modules.builtin');
    this.#builtIn = new Set(existsSync(builtIn) ? readFileSync(builtIn, 'utf8').split('\n').map(nameOf) : []);
  }

  /**
   * Files to load, in order, for these modules; built-in modules do not need a file.
   * @throws RoceVmError ERR_RDMC_ROCE_VM_KERNEL_UNFIT when the kernel has no such module
   */
  inOrder(names: readonly string[]): string[] {
    const order: string[] = [];
    for (const name of names) {
      const found = this.#needs.get(name.replaceAll('-', '_'));
      if (!found) {
        if (this.#builtIn.has(name)) continue;
        throw new RoceVmError('ERR_RDMC_ROCE_VM_KERNEL_UNFIT', `this kernel has no module ${name}`);
      }
      for (const path of [...found.needs.toReversed(), found.path]) {
        if (!order.includes(path)) order.push(path);
      }
    }
    return order;
  }
}
