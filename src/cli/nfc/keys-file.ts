import { parseUid } from '../../nfc/uid.ts'
import { bareHex, isAesKey } from '../../values/aes-key.ts'
import { isJsonObject, parseExact } from '../../values/json.ts'
import { openSource } from '../batch/input/source.ts'
import { UsageError } from '../errors.ts'
import type { System } from '../system.ts'

/** A key that the operator has. Never shown. */
export interface FileKey {
  /** 16 bytes. */
  readonly key: Buffer
  /** Where the file has it: `k1`, or `line 3`. */
  readonly name: string
  /** Its number on a chip, 0 to 4, if the file says it. */
  readonly slot: number | undefined
  /** The chip that it belongs to, in decimal, if the file says it. */
  readonly uid: string | undefined
}

const maxKeys = 64
const forms =
  'A file of keys is JSON ({ "k0": "32 hex digits", … }, as wipe files of other tools have it), or has a key per line.'

/**
 * Reads `--keys`: JSON with keys under any names (`k0` to `k4` say their number on the chip), such as wipe files and
 * key sets; an array of these; or a key per line, with or without `name:` before it. Five nameless keys are the keys
 * 0 to 4 of a chip.
 * @throws UsageError that never quotes the file's text, which may be a key
 */
export const readKeysFile = async (system: System, file: string): Promise<readonly FileKey[]> => {
  const source = openSource(system, file)
  let text = ''
  for await (const chunk of source.chunks) text += chunk
  const found = /^\s*[[{]/.test(text) ? keysInJson(text, source.name) : keysInLines(text, source.name)
  if (found.length === 0) throw new UsageError(`${source.name} has no keys.`, forms)
  if (found.length > maxKeys)
    throw new UsageError(`${source.name} has ${found.length} keys, of at most ${maxKeys}.`)
  return found
}

function keysInJson(text: string, file: string): FileKey[] {
  let value: unknown
  try {
    value = parseExact(text)
  } catch {
    throw new UsageError(`${file} is not JSON.`, forms)
  }
  if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
    return inOrder(value.map((one: string, index) => named(`entry ${index + 1}`, one, file)))
  return [...inObject(value, file, undefined)]
}

function* inObject(value: unknown, file: string, of: string | undefined): Generator<FileKey> {
  if (Array.isArray(value)) {
    for (const one of value) yield* inObject(one, file, of)
    return
  }
  if (!isJsonObject(value)) return
  const uid = uidIn(value.uid ?? value.UID) ?? of
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'object') yield* inObject(member, file, uid)
    else if (typeof member !== 'string') continue
    else if (slotOf(name) !== undefined || bareHex(member).length === keyDigits || /key$/i.test(name))
      if (member !== '' && isHexKey(bareHex(member), name)) yield { ...named(name, member, file), uid }
  }
}

/** Other text of 32 characters is no key, unless its name says so. */
const isHexKey = (hex: string, name: string): boolean =>
  /^[0-9a-f]*$/i.test(hex) || slotOf(name) !== undefined

const uidIn = (value: unknown): string | undefined => {
  const parsed = typeof value === 'string' ? parseUid(value.trim()) : undefined
  return parsed?.ok ? parsed.uid : undefined
}

function keysInLines(text: string, file: string): FileKey[] {
  const keys = text.split('\n').flatMap((line, index) => {
    const content = line.replace(/#.*/, '').trim()
    const several = content.split(/[,;\s]+/).filter((one) => one !== '')
    if (several.every(isAesKey)) return several.map((one) => named(`line ${index + 1}`, one, file))
    const [, name, rest = content] = /^([\w-]+)\s*[:=,]\s*(.+)$/.exec(content) ?? []
    // The name of `04:a1:…` is its first byte, and a key is no name: names are shown.
    const isNamed = name !== undefined && !/^(?:[0-9a-f]{2}|[0-9a-f]{12,})$/i.test(bareHex(name))
    return [named(isNamed ? name : `line ${index + 1}`, isNamed ? rest : content, file)]
  })
  return inOrder(keys)
}

const inOrder = (keys: readonly FileKey[]): FileKey[] =>
  keys.map((key, index) =>
    keys.length === 5 && keys.every(({ slot }) => slot === undefined) ? { ...key, slot: index } : key,
  )

const keyDigits = 32

const named = (name: string, text: string, file: string): FileKey => {
  const hex = bareHex(text)
  if (!isAesKey(hex)) {
    const why = /^[0-9a-f]*$/i.test(hex) ? `has ${hex.length} hex digits` : 'is not hex'
    throw new UsageError(`${name} of ${file} ${why}: an AES-128 key has 32 hex digits.`, forms)
  }
  return { key: Buffer.from(hex, 'hex'), name, slot: slotOf(name), uid: undefined }
}

const slotOf = (name: string): number | undefined => {
  const digit = /^(?:k|key ?)([0-4])$/i.exec(name)?.[1]
  return digit === undefined ? undefined : Number(digit)
}
