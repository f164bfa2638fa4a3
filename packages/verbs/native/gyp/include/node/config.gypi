# node-gyp reads this file of a folder of headers: how that Node was built. The addon does not depend on it.
{
  'target_defaults': {},
  'variables': {}
}
