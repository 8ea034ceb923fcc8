// The URL that a chip shows, with placeholders for what it fills in at each tap, and ^ where the MAC's input begins:
// `?^d={keySet}&e={picc}&c={mac}`, `https://^t.example/424?uid={uid}&ctr={ctr}&c={mac}`.

export const placeholders = ['picc', 'uid', 'ctr', 'enc', 'tt', 'keySet', 'mac'] as const
export type Placeholder = (typeof placeholders)[number]

/** `loop`: the parameter in which a TagTamper shows its status; other chips of the same key set lack it. */
export type Part = string | { readonly slot: Placeholder | 'loop' }

export interface TemplateParameter {
  readonly name: string
  /** As in the URL, with what is percent-encoded in that form. */
  readonly value: readonly Part[]
}

export interface UrlTemplate {
  readonly text: string
  /** Everything before the `?`, such as `https://t.example/424`; empty: the daemon's own address. */
  readonly head: string
  /** The text after the `?`. */
  readonly query: readonly Part[]
  readonly parameters: readonly TemplateParameter[]
  /** What the MAC covers; null: no text at all. */
  readonly covered: readonly Part[] | null
  /** `enc:BYTE`, if a TagTamper's status lies in the encrypted file data. */
  readonly tamperAt: string | undefined
  /** Its offset there. */
  readonly tamperByte: number | undefined
}

/** The parameter of a TagTamper's status where the template has no {tt}: the permanent status, and the current one. */
export const TAMPER_PARAMETER = 't'

/** `message` can follow the name of the field that holds the template. */
export class TemplateError extends Error {
  readonly field: 'template' | 'tamper'

  constructor(message: string, field: 'template' | 'tamper' = 'template') {
    super(message)
    this.name = new.target.name
    this.field = field
  }
}

const maxLength = 400
const slotPattern = /\{([^{}]*)\}/g
const list = placeholders.map((name) => `{${name}}`).join(', ')
const refuse = (message: string, field?: 'template' | 'tamper'): never => {
  throw new TemplateError(message, field)
}

/**
 * @param text as placeholders above; a missing `?` at its beginning is added
 * @param tamper `enc:BYTE`, if a TagTamper's status lies in the encrypted file data
 * @throws TemplateError that says what is wrong, and where
 */
export function parseTemplate(text: string, tamper?: string | null): UrlTemplate {
  if (text.length > maxLength) refuse(`must have at most ${maxLength} characters`)
  if (!/^[\x21-\x7e]+$/.test(text)) refuse('must be printable ASCII without blanks')
  if (text.includes('#')) refuse('has a #: what stands behind it is never sent to a server')
  if (text.includes('&amp;')) refuse('has &amp;, the HTML form of &: write & alone')
  const whole = withQuery(text)
  const marks = whole.split('^')
  if (marks.length > 2) refuse('has ^ twice: the input of the MAC begins in one place')
  const plain = marks.join('')
  checkPlaceholders(plain, partsOf(plain))
  const at = plain.indexOf('?')
  const [head, query] = [plain.slice(0, at), plain.slice(at + 1)]
  if (slotsOf(partsOf(head)).length > 0)
    refuse('has a placeholder before the ?: only parameters are read from a tap, not the path')
  const parameters = query.split('&').flatMap(parametersIn)
  checkParameters(parameters)
  const covered = marks.length === 2 ? coveredBy(whole, marks[1] ?? '') : null
  const queryParts = partsOf(query)
  const slots = slotsOf(queryParts)
  checkCovered(slots, covered)
  const tamperByte = tamperByteOf(tamper, slots)
  const isTaken =
    tamperByte !== undefined ||
    slots.includes('tt') ||
    parameters.some(({ name }) => name === TAMPER_PARAMETER)
  const withStatus = covered && !isTaken ? withLoop(covered) : undefined
  return {
    text: whole,
    head,
    query: withStatus ? loopInQuery(queryParts) : queryParts,
    parameters,
    covered: withStatus ?? covered,
    tamperAt: tamper ?? undefined,
    tamperByte,
  }
}

/** True if a TagTamper can show its status under the MAC: a status that anyone could change would say nothing. */
export const canShowTamper = ({ covered, tamperByte }: UrlTemplate): boolean =>
  tamperByte !== undefined || (covered?.some((part) => isSlot('loop')(part) || isSlot('tt')(part)) ?? false)

export const isSlot =
  (slot: Placeholder | 'loop') =>
  (part: Part): boolean =>
    typeof part !== 'string' && part.slot === slot

export const slotsOf = (parts: readonly Part[]): (Placeholder | 'loop')[] =>
  parts.flatMap((part) => (typeof part === 'string' ? [] : [part.slot]))

/** The name of the parameter that shows it. */
export const parameterOf = ({ parameters }: UrlTemplate, slot: Placeholder): string =>
  parameters.find(({ value }) => value.some(isSlot(slot)))?.name ?? ''

function withQuery(text: string): string {
  if (text.includes('?')) return text
  if (/^[^={]*\//.test(text)) refuse('has no ?: a tap is read from the parameters behind it')
  return `?${text}`
}

function partsOf(text: string): Part[] {
  const parts: Part[] = []
  let end = 0
  for (const { 0: whole, 1: name, index } of text.matchAll(slotPattern)) {
    if (index > end) parts.push(text.slice(end, index))
    end = index + whole.length
    const slot = placeholders.find((one) => one === name)
    if (slot === undefined) throw unknownPlaceholder(whole, text)
    parts.push({ slot })
  }
  if (end < text.length) parts.push(text.slice(end))
  return parts
}

const unknownPlaceholder = (found: string, text: string): TemplateError =>
  new TemplateError(`has ${found} at character ${text.indexOf(found) + 1}. Placeholders are ${list}`)

function checkPlaceholders(plain: string, parts: readonly Part[]): void {
  const stray = plain.replace(slotPattern, (found) => ' '.repeat(found.length)).search(/[{}]/)
  if (stray >= 0) refuse(`has a ${plain[stray]} without its pair at character ${stray + 1}`)
  const slots = slotsOf(parts)
  const has = (slot: Placeholder): boolean => slots.includes(slot)
  const twice = slots.find((slot, index) => slots.indexOf(slot) !== index)
  if (twice) refuse(`has {${twice}} twice`)
  if (!has('mac')) refuse('lacks {mac}: without a MAC anyone could make up a tap')
  if (has('picc') && (has('uid') || has('ctr')))
    refuse('has {picc}, which holds the UID and the counter, and {uid} or {ctr} besides: keep one form')
  if (!has('picc') && !has('uid')) refuse('has neither {picc} nor {uid}: nothing says which chip it is')
  if (has('uid') && !has('ctr'))
    refuse('has {uid} but not {ctr}: without a counter, a copy of the link could not be told from the chip')
  parts.forEach((part, index) => {
    const beside = [parts[index - 1], parts[index + 1]]
    if (isSlot('keySet')(part) && beside.some((one) => one !== undefined && typeof one !== 'string'))
      refuse('has {keySet} directly beside another placeholder: where its number ends could not be told')
  })
}

function parametersIn(text: string): TemplateParameter[] {
  const [name = '', ...rest] = text.split('=')
  const value = partsOf(rest.join('='))
  if (slotsOf(partsOf(name)).length > 0)
    refuse(`has ${name} without a name: write it as the value of a parameter, such as e=${name}`)
  return name === '' ? [] : [{ name: decoded(name), value }]
}

function checkParameters(parameters: readonly TemplateParameter[]): void {
  const names = parameters.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) refuse(`has the parameter ${twice} twice`)
}

function coveredBy(whole: string, behindMark: string): Part[] {
  const behind = partsOf(behindMark)
  const end = behind.findIndex(isSlot('mac'))
  if (end < 0)
    refuse(`has ^ at character ${whole.indexOf('^') + 1}, behind {mac}: the MAC covers what stands before it`)
  return behind.slice(0, end)
}

function checkCovered(slots: readonly (Placeholder | 'loop')[], covered: readonly Part[] | null): void {
  const isCovered = (slot: Placeholder): boolean => covered?.some(isSlot(slot)) ?? false
  if (slots.includes('enc') && !isCovered('enc'))
    refuse(
      'has {enc} outside of what the MAC covers, which no chip can do: put ^ before {enc}, and {mac} behind it',
    )
  const behind = slots.slice(slots.indexOf('mac') + 1)
  const uncovered = behind.find((slot) => slot === 'picc' || slot === 'uid' || slot === 'ctr')
  if (covered && uncovered)
    refuse(
      `has {${uncovered}} behind {mac}, where the MAC does not cover it: {mac} comes last, or leave ^ out`,
    )
}

/**
 * A TagTamper has its status in a parameter directly before that of the MAC: `…&t=CC&c=`.
 * @param before what stands before {mac} @returns undefined where there is no room for one
 */
function withLoop(before: readonly Part[]): Part[] | undefined {
  const last = before.at(-1)
  const [, rest, name] = typeof last === 'string' ? (/^(.*&)([^&=]+=)$/s.exec(last) ?? []) : []
  if (rest === undefined || name === undefined) return undefined
  return [...before.slice(0, -1), rest, { slot: 'loop' }, name]
}

function loopInQuery(query: readonly Part[]): Part[] {
  const end = query.findIndex(isSlot('mac'))
  return [...(withLoop(query.slice(0, end)) ?? query.slice(0, end)), ...query.slice(end)]
}

function tamperByteOf(tamper: string | null | undefined, slots: readonly string[]): number | undefined {
  if (tamper === undefined || tamper === null) return undefined
  const byte = /^enc:(\d{1,3})$/.exec(tamper)?.[1]
  if (byte === undefined)
    return refuse('must be enc:BYTE, the place of the status in the decrypted data, such as enc:0', 'tamper')
  if (!slots.includes('enc'))
    refuse('needs {enc} in the template: the status lies in the encrypted data', 'tamper')
  if (slots.includes('tt')) refuse('stands beside {tt}: a chip shows its status in one place', 'tamper')
  return Number(byte)
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** The older form of a template: names of parameters, and where the MAC's input begins. */
export interface ShortForm {
  readonly parameters: { readonly e: string; readonly c: string; readonly d: string }
  readonly macInputFrom: 'd' | 'e' | null
}

export const defaultParameters: ShortForm['parameters'] = { e: 'e', c: 'c', d: 'd' }

export function templateOfShortForm({ parameters: { d, e, c }, macInputFrom }: ShortForm): string {
  const mark = (name: 'd' | 'e'): string => (macInputFrom === name ? '^' : '')
  return `?${mark('d')}${d}={keySet}&${mark('e')}${e}={picc}&${c}={mac}`
}

const shortForm = /^\?(\^)?([^=&{}^]+)=\{keySet\}&(\^)?([^=&{}^]+)=\{picc\}&([^=&{}^]+)=\{mac\}$/

/** @returns undefined if the template says more than the short form can */
export function shortFormOf({ text }: Pick<UrlTemplate, 'text'>): ShortForm | undefined {
  const [, fromD, d, fromE, e, c] = shortForm.exec(text) ?? []
  if (d === undefined || e === undefined || c === undefined) return undefined
  return { parameters: { e, c, d }, macInputFrom: fromD ? 'd' : fromE ? 'e' : null }
}
