# node-gyp includes this file of a folder of headers. binding.gyp has all settings of the addon.
{
  'target_defaults': {
    'default_configuration': 'Release',
    'configurations': { 'Release': {}, 'Debug': {} },
  },
}
