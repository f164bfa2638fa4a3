/** One trainable tensor of a network, fp32. */
export interface Tensor {
  /** Its name in the network. */
  readonly name: string;
  /** Its dimensions. */
  readonly shape: readonly number[];
  /** Number of values. */
  readonly length: number;
  /** The kind of layer that it belongs to. */
  readonly kind: 'convolution' | 'batch-norm' | 'fully-connected';
}

/** Blocks per stage, and width of the 3×3 convolution in each (He et al., CVPR 2016, table 1, column 152-layer). */
const STAGES = [
  { blocks: 3, width: 64 },
  { blocks: 8, width: 128 },
  { blocks: 36, width: 256 },
  { blocks: 3, width: 512 },
] as const;
/** Output channels of a bottleneck block, per channel of its width. */
const EXPANSION = 4;
const STEM_CHANNELS = 64;
const CLASSES = 1000;

/**
 * The trainable tensors of ResNet-152 in forward order, derived from its architecture: 155 convolutions without bias,
 * two vectors of batch normalisation after each, and a fully connected layer with bias. 467 tensors, 60,192,808 values.
 */
export function resnet152(): Tensor[] {
  const tensors: Tensor[] = [];
  const add = (kind: Tensor['kind'], name: string, ...shape: number[]): void => {
    tensors.push({ name, shape, kind, length: shape.reduce((product, size) => product * size, 1) });
  };
  const convolution = (name: string, from: number, to: number, size: number): void => {
    add('convolution', `${name}.weight`, to, from, size, size);
    add('batch-norm', `${name}.norm.weight`, to);
    add('batch-norm', `${name}.norm.bias`, to);
  };

  convolution('stem', 3, STEM_CHANNELS, 7);
  let channels = STEM_CHANNELS;
  STAGES.forEach(({ blocks, width }, stage) => {
    for (let block = 0; block < blocks; block += 1) {
      const name = `stage${stage + 1}.block${block + 1}`;
      convolution(`${name}.reduce`, channels, width, 1);
      convolution(`${name}.spatial`, width, width, 3);
      convolution(`${name}.expand`, width, width * EXPANSION, 1);
      // The first block of a stage changes the number of channels, so its shortcut needs a projection.
      if (block === 0) convolution(`${name}.shortcut`, channels, width * EXPANSION, 1);
      channels = width * EXPANSION;
    }
  });
  add('fully-connected', 'classifier.weight', CLASSES, channels);
  add('fully-connected', 'classifier.bias', CLASSES);
  return tensors;
}
