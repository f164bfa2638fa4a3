import { resolve, sep } from 'node:path';
import ts from 'typescript';
import { root } from '../root.js';
import type { PublicPackage } from './packages.js';

/** What one package exports. */
export interface Coverage {
  /** Exports, and members of exported types. */
  readonly total: number;
  /** Those without a comment: `Group.id`. */
  readonly undocumented: readonly string[];
}

/** Counts exports and public members without a documentation comment. A comment of a base type counts. */
export function coverageOf(program: ts.Program, published: PublicPackage): Coverage {
  const checker = program.getTypeChecker();
  const names = namesOf(program, published);
  const undocumented = [...names].filter(([symbol]) => !isDocumented(symbol, checker));
  return { total: names.size, undocumented: undocumented.map(([, name]) => name) };
}

/** Names of everything that counts. */
export function namesOf(program: ts.Program, { folder, entries }: PublicPackage): Map<ts.Symbol, string> {
  const checker = program.getTypeChecker();
  const own = resolve(root, folder) + sep;
  const seen = new Map<ts.Symbol, string>();
  for (const { source } of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(source)!);
    for (const found of module ? checker.getExportsOfModule(module) : []) {
      const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
      if (!isDeclaredIn(symbol, own)) continue;
      seen.set(symbol, found.name);
      for (const member of membersOf(symbol)) {
        if (isDeclaredIn(member, own)) seen.set(member, `${found.name}.${member.name}`);
      }
    }
  }
  return seen;
}

export function isDocumented(symbol: ts.Symbol, checker: ts.TypeChecker): boolean {
  return symbol.getDocumentationComment(checker).length > 0 || symbol.getJsDocTags(checker).length > 0;
}

function isDeclaredIn(symbol: ts.Symbol, folder: string): boolean {
  return symbol.declarations?.some((one) => one.getSourceFile().fileName.startsWith(folder)) ?? false;
}

/** Public members that have a name: of classes, interfaces, enums, and types that are written out. */
function membersOf(symbol: ts.Symbol): ts.Symbol[] {
  const inherent = [...(symbol.members?.values() ?? [])];
  const statics =
    symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Enum) ? [...(symbol.exports?.values() ?? [])] : [];
  const literals = (symbol.declarations ?? []).flatMap((one) =>
    ts.isTypeAliasDeclaration(one) ? literalMembers(one.type) : [],
  );
  return [...inherent, ...statics, ...literals].filter(isPublicMember);
}

function literalMembers(node: ts.TypeNode): ts.Symbol[] {
  if (ts.isTypeLiteralNode(node)) {
    return node.members.flatMap((member) => ('symbol' in member ? [member.symbol as ts.Symbol] : []));
  }
  if (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node)) return node.types.flatMap(literalMembers);
  if (ts.isParenthesizedTypeNode(node)) return literalMembers(node.type);
  return [];
}

const NAMED =
  ts.SymbolFlags.Property | ts.SymbolFlags.Method | ts.SymbolFlags.Accessor | ts.SymbolFlags.EnumMember;

/** Type parameters, constructors, symbols such as `Symbol.dispose`, and private members do not count; nor does the `name` of an error. */
function isPublicMember(symbol: ts.Symbol): boolean {
  if (!(symbol.flags & NAMED) || /^(__|#)/.test(symbol.name) || symbol.name === 'prototype') return false;
  if (symbol.name === 'name' && symbol.declarations?.some(isOverride)) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return !symbol.declarations?.some((one) => ts.getCombinedModifierFlags(one) & hidden);
}

function isOverride(declaration: ts.Declaration): boolean {
  return (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Override) !== 0;
}
