// A user's project: an empty folder into which a package manager installs packages, on a machine without a compiler.
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Nobody: root may write to everything, so that a read-only folder means nothing to it. */
const STRANGER = 65534;
const LIMIT_MS = 300_000;

function makeReadOnly(path) {
  const facts = lstatSync(path);
  if (facts.isSymbolicLink()) return;
  if (facts.isDirectory()) for (const name of readdirSync(path)) makeReadOnly(join(path, name));
  chmodSync(path, facts.mode & 0o555);
}

function makeWritable(path) {
  if (!lstatSync(path).isDirectory()) return;
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) makeWritable(join(path, name));
}

export class Project {
  #manager;
  #registry;

  /** `folder` must not exist. Below it are the project, and a home and a PATH of the user. */
  constructor(folder, manager, registry) {
    this.folder = folder;
    this.home = join(folder, 'home');
    this.path = join(folder, 'path');
    this.work = join(folder, 'work');
    this.#manager = manager;
    this.#registry = registry;
    for (const each of [this.home, this.path, this.work]) mkdirSync(each, { recursive: true });
    symlinkSync(process.execPath, join(this.path, 'node'));
    const files = { 'package.json': '{ "name": "project", "private": true, "type": "module" }\n' };
    for (const [name, text] of Object.entries({ ...files, ...manager.files(registry) })) {
      writeFileSync(join(this.work, name), text);
    }
  }

  get #environment() {
    return {
      PATH: this.path,
      HOME: this.home,
      XDG_RUNTIME_DIR: this.home,
      npm_config_registry: this.#registry,
      npm_config_cache: join(this.folder, 'cache'),
      YARN_CACHE_FOLDER: join(this.folder, 'cache'),
      YARN_REGISTRY: this.#registry,
    };
  }

  /** A package manager that also runs the programs. It is one file, and a copy, which the stranger can read. */
  #copiedManager() {
    const copy = join(this.path, 'manager.cjs');
    copyFileSync(this.#manager.program(), copy);
    return copy;
  }

  get modules() {
    return join(this.work, 'node_modules');
  }

  async install(packages) {
    const args = [this.#manager.program(), ...this.#manager.install, ...packages];
    await this.#node(args, {});
  }

  /** From now on nobody may change what is installed. */
  lock() {
    chmodSync(this.home, 0o700);
    if (process.getuid() === 0) chownSync(this.home, STRANGER, STRANGER);
    if (this.#manager.hasNodeModules) makeReadOnly(this.modules);
  }

  /** So that the folder can be removed. */
  unlock() {
    if (this.#manager.hasNodeModules) makeWritable(this.modules);
  }

  write(name, text) {
    writeFileSync(join(this.work, name), text);
    return join(this.work, name);
  }

  /** What a program of the project prints, as a user without rights. */
  output(file) {
    return this.#outputOf(this.#manager.hasNodeModules ? [file] : [this.#copiedManager(), 'node', file]);
  }

  /** What a command of an installed package prints. */
  commandOutput(name, [command, ...args]) {
    if (!this.#manager.hasNodeModules)
      return this.#outputOf([this.#copiedManager(), 'run', command, ...args]);
    const folder = join(this.modules, name);
    const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return this.#outputOf([join(folder, bin[command]), ...args]);
  }

  async #outputOf(args) {
    const identity = process.getuid() === 0 ? { uid: STRANGER, gid: STRANGER } : {};
    const { stdout } = await this.#node(args, identity);
    return stdout;
  }

  async #node(args, identity) {
    const options = {
      cwd: this.work,
      env: this.#environment,
      timeout: LIMIT_MS,
      maxBuffer: 64 << 20,
      ...identity,
    };
    try {
      return await run(process.execPath, args, options);
    } catch (error) {
      throw new Error(`${error.message}\n${error.stdout}${error.stderr}`);
    }
  }
}
