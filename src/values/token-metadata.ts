import { isPlainText, notPlainText } from './invisible.ts'
import { ExactNumber, isJsonObject, type JsonObject } from './json.ts'

interface MetadataProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

interface Rules {
  readonly of: 'phygital' | 'event'
  /** It was stored before marketplaces' rules were kept. */
  readonly isRestored?: boolean
}

/** Problems of a token's metadata. Extra fields are good: marketplaces and wallets read more than the standard ones. */
export function* metadataProblems(metadata: JsonObject, rules: Rules): Generator<MetadataProblem> {
  let isWhole = true
  for (const problem of shapeProblems(metadata, rules.of)) {
    isWhole = false
    yield problem
  }
  if (!isWhole) return
  yield* harmfulValues(metadata)
  if (!rules.isRestored) yield* unreadableIn(metadata)
}

const texts = ['name', 'collection', 'description', 'image']
const maxElements = 10_000

type Problem = string | undefined
const isText = (value: unknown): Problem =>
  typeof value === 'string' ? undefined : value === undefined ? 'Required' : 'must be text'
const isNumber = (value: unknown): value is number | ExactNumber =>
  typeof value === 'number' || value instanceof ExactNumber
const isTextOrNumber = (value: unknown): Problem =>
  typeof value === 'string' || isNumber(value)
    ? undefined
    : value === undefined
      ? 'Required'
      : 'must be text or a number'

const attribute = {
  trait_type: isText,
  value: isTextOrNumber,
  display_type: (value: unknown) => (value === undefined ? undefined : isText(value)),
}
const media = { media: isText, type: isText }
type Members = Readonly<Record<string, (value: unknown) => Problem>>

function* shapeProblems(metadata: JsonObject, of: Rules['of']): Generator<MetadataProblem> {
  for (const name of texts) {
    const message = isText(metadata[name])
    if (message !== undefined) yield { path: [name], message }
  }
  yield* listProblems(metadata, 'attributes', attribute)
  if (of === 'phygital' || metadata.media_gallery !== undefined)
    yield* listProblems(metadata, 'media_gallery', media)
}

function* listProblems(metadata: JsonObject, name: string, members: Members): Generator<MetadataProblem> {
  const value = metadata[name]
  if (!Array.isArray(value)) {
    yield { path: [name], message: value === undefined ? 'Required' : 'must be an array' }
    return
  }
  if (value.length > maxElements) {
    yield { path: [name], message: `must have at most ${maxElements} elements, but has ${value.length}` }
    return
  }
  for (const [index, element] of value.entries()) {
    if (!isJsonObject(element)) yield { path: [name, index], message: 'must be an object' }
    else
      for (const [member, check] of Object.entries(members)) {
        const message = check(element[member])
        if (message !== undefined) yield { path: [name, index, member], message }
      }
  }
}

/** Shown as text wherever it appears. */
const prose = new Set(['name', 'collection', 'description', 'attributes'])

/** Text that databases cannot hold, and URLs that would run in the browser of whoever opens them. */
export function* harmfulValues(
  value: unknown,
  path: readonly (string | number)[] = [],
  isProse = false,
): Generator<MetadataProblem> {
  if (typeof value === 'string') {
    if (!isPlainText(value)) yield { path, message: notPlainText }
    const scheme = isProse ? undefined : harmfulScheme(value)
    if (scheme !== undefined) yield { path, message: `must not use the scheme ${scheme}:` }
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) yield* harmfulValues(element, [...path, index], isProse)
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (!isPlainText(name)) yield { path, message: `has a member whose name ${notPlainText}` }
      yield* harmfulValues(member, [...path, name], isProse || (path.length === 0 && prose.has(name)))
    }
  }
}

/** Types of display that need a number (OpenSea's metadata standards); a date may be text for people. */
const numeric = new Set(['number', 'boost_number', 'boost_percentage'])

/** Metadata that marketplaces silently omit. */
export function* unreadableIn({
  background_color: color,
  attributes,
}: JsonObject): Generator<MetadataProblem> {
  if (typeof color === 'string' && color.startsWith('#'))
    yield {
      path: ['background_color'],
      message: `must be six hex digits without #${/^#[0-9a-f]{6}$/i.test(color) ? `: ${color.slice(1)}` : ', such as ff8800'}`,
    }
  if (!Array.isArray(attributes)) return
  for (const [index, one] of attributes.entries()) {
    if (!isJsonObject(one)) continue
    const { value, display_type: type } = one
    if (!isNumber(value) && !(typeof value === 'string' && numeric.has(String(type)))) continue
    const why = reasonAgainstNumber(value instanceof ExactNumber ? value.text : String(value))
    if (why !== undefined) yield { path: ['attributes', index, 'value'], message: why }
  }
}

const plain = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** @returns why a text is no number that marketplaces read, which can follow the text in quotes */
export function reasonAgainstNumber(text: string): string | undefined {
  if (plain.test(text))
    return Number.isFinite(Number(text))
      ? undefined
      : 'must be a number that programs can read: at most 1.7e308'
  return /^-?\d+,\d+$/.test(text)
    ? `must be a number with a point and without commas: ${text.replace(',', '.')}`
    : 'must be a number, such as 12 or 0.5'
}

/** @returns the scheme of a URL that runs or reads something on the device of whoever opens it, if it has one */
export function harmfulScheme(url: string): string | undefined {
  // Browsers ignore whitespace and control characters in the scheme of a URL.
  const scheme = /^([a-z]+):/i.exec(url.slice(0, 200).replace(/[\s\p{Cc}\p{Cf}]/gu, ''))?.[1]?.toLowerCase()
  return scheme !== undefined && ['javascript', 'vbscript', 'file'].includes(scheme) ? scheme : undefined
}
