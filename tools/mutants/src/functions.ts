import { isNode, type Node } from './tokens.js';

export interface NamedFunction {
  readonly name: string;
  readonly node: Node;
}

type Fields = Node & Record<string, unknown>;

const FUNCTION_VALUES = new Set(['ArrowFunctionExpression', 'FunctionExpression']);

/** Every function of a tree that has a name, with the names of the classes and functions around it. */
export function* namedFunctions(tree: Node): Generator<NamedFunction> {
  yield* below(tree, '');
}

function* below(node: Node, around: string): Generator<NamedFunction> {
  const own = ownName(node as Fields);
  const name = own === undefined ? around : around === '' ? own : `${around}.${own}`;
  if (own !== undefined && isFunction(node as Fields)) yield { name, node };
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* below(child, name);
  }
}

function ownName(node: Fields): string | undefined {
  switch (node.type) {
    case 'ClassDeclaration':
    case 'ClassExpression':
    case 'FunctionDeclaration':
    case 'FunctionExpression':
      return nameOf(node.id);
    case 'ClassMethod':
    case 'ClassPrivateMethod':
    case 'ObjectMethod':
      return nameOf(node.key);
    case 'ClassProperty':
    case 'ClassPrivateProperty':
    case 'ObjectProperty':
      return isFunctionValue(node.value) ? nameOf(node.key) : undefined;
    case 'VariableDeclarator':
      return isFunctionValue(node.init) || hasType(node.init, 'ObjectExpression')
        ? nameOf(node.id)
        : undefined;
    default:
      return undefined;
  }
}

function isFunction(node: Fields): boolean {
  if (node.type === 'VariableDeclarator') return isFunctionValue(node.init);
  return !node.type.startsWith('Class') || node.type === 'ClassMethod' || node.type.startsWith('ClassP');
}

function isFunctionValue(value: unknown): boolean {
  return isNode(value) && FUNCTION_VALUES.has(value.type);
}

function hasType(value: unknown, type: string): boolean {
  return isNode(value) && value.type === type;
}

function nameOf(key: unknown): string | undefined {
  if (!isNode(key)) return undefined;
  const fields = key as Fields;
  if (fields.type === 'Identifier') return String(fields.name);
  if (fields.type === 'PrivateName') return `#${nameOf(fields.id) ?? ''}`;
  if (fields.type === 'StringLiteral') return String(fields.value);
  return undefined;
}
