// Lines about a build: compiling takes a minute or more, and nobody should have to guess whether it still does.
import { readdirSync } from 'node:fs';

const SILENCE_MS = 5000;

/** Prints what make starts, and after each silence that it still runs. */
export class Progress {
  #units;
  #started = 0;
  #began = Date.now();
  #partOfLine = '';
  #timer;

  constructor(folder) {
    this.#units = readdirSync(folder).filter((name) => /^unit_(?!portable).*\.cc$/.test(name)).length;
    this.#print('preparing');
  }

  /** Output of make, in pieces. */
  add(text) {
    const lines = (this.#partOfLine + text).split('\n');
    this.#partOfLine = lines.pop();
    for (const line of lines) this.#line(line);
  }

  end(text) {
    this.#print(text);
    this.stop();
  }

  /** Prints nothing more. */
  stop() {
    clearTimeout(this.#timer);
  }

  #line(line) {
    const unit = /^\s*CXX\(target\) .*\/unit_(\w+)\.o/.exec(line)?.[1];
    if (unit === 'portable') return;
    if (unit) this.#print(`compiling ${unit}, ${++this.#started} of ${this.#units} parts`);
    if (/^\s*SOLINK_MODULE\(target\)/.test(line)) this.#print('linking');
  }

  #print(text) {
    const seconds = Math.round((Date.now() - this.#began) / 1000);
    console.log(`rdmc-verbs-build: ${text} (${seconds} s)`);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#print('still running'), SILENCE_MS);
  }
}
