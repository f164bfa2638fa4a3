import { bundle, WITH_ZOD } from '../../tools/testing/config/bundle.js';

export default bundle({ entry: ['src/index.ts', 'src/reader.ts', 'src/writer.ts'], ...WITH_ZOD });
