// Options of a call, checked: what is misspelt or out of range is refused in words, with a stable code.
import { codeOf, messageOf, optionChecks } from '@rdmc/common';

class ExampleError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const { integerOption, onlyKnownOptions } = optionChecks((code, message) => new ExampleError(code, message));

for (const options of [{ depth: 16 }, { dept: 16 }, { depth: 0 }]) {
  try {
    onlyKnownOptions('open', options, ['depth']);
    console.log('depth', integerOption('open', 'depth', options.depth, 1, 1024));
  } catch (error) {
    console.log(`${codeOf(error)}: ${messageOf(error)}`);
  }
}
