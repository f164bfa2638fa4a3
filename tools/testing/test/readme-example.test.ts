import { describe, expect, it } from 'vitest';
import { readmeExample, readmeInstalls } from '../src/index.js';

const program = "import { a } from '@rdmc/a/entry';\nconsole.log(a);\n";
const block = (language: string, text: string) => `\`\`\`${language}\n${text}\`\`\`\n`;

describe('the example of a README', () => {
  it('is the first program that imports the package, with what it prints', () => {
    const other = block('js', "import { b } from '@rdmc/b';\n");
    const readme = `# a\n\n${other}\n${block('js', program)}\nIt prints:\n\n${block('', '1\n2\n')}\nMore.\n`;
    expect(readmeExample(readme, '@rdmc/a')).toEqual({ code: program, prints: '1\n2\n', anyOrder: false });
  });

  it('has lines in any order where the README says so', () => {
    const readme = `${block('js', program)}\nIt prints, in some order:\n\n${block('', '1\n')}`;
    expect(readmeExample(readme, '@rdmc/a')).toMatchObject({ prints: '1\n', anyOrder: true });
  });

  it('has no output where another text comes first', () => {
    const readme = `${block('js', program)}\n## Next\n\n${block('', 'not the output\n')}`;
    expect(readmeExample(readme, '@rdmc/a')).toEqual({ code: program, prints: undefined, anyOrder: false });
  });

  it('is undefined where no program imports the package', () => {
    expect(readmeExample(block('js', program), '@rdmc/aa')).toBeUndefined();
    expect(readmeExample(block('ts', program), '@rdmc/a')).toBeUndefined();
  });
});

it('the installed packages are those of every npm install', () => {
  const twice = `${block('', 'npm install @rdmc/a @rdmc/b\n')}\n${block('sh', 'npm install @rdmc/a @rdmc/c\n')}`;
  expect(readmeInstalls(twice)).toEqual(['@rdmc/a', '@rdmc/b', '@rdmc/c']);
  expect(readmeInstalls(block('sh', 'npm install --global @rdmc/cli\nrdmc demo\n'))).toEqual(['@rdmc/cli']);
  expect(readmeInstalls('npx @rdmc/kv demo\n')).toEqual([]);
});
