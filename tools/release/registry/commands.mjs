// What is run of the packages whose READMEs show a command instead of a program: the smallest work that needs all of it.
export const COMMANDS = {
  '@rdmc/cli': ['rdmc', 'demo', '--members', '3'],
  '@rdmc/kv': ['kv', 'demo', '--keys', '1000'],
  '@rdmc/paramserver': ['rdmc-paramserver', '--workers', '1', '--iterations', '2', '--tensors', '4'],
  '@rdmc/training': ['rdmc-training', '--workers', '2', '--steps', '3'],
};
