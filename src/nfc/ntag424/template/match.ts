import {
  decoded,
  type Part,
  type Placeholder,
  TAMPER_PARAMETER,
  type TemplateParameter,
  type UrlTemplate,
} from './parse.ts'

/** What a tap shows in place of a template's placeholders. */
export interface TapValues {
  readonly picc?: string
  readonly uid?: string
  readonly ctr?: string
  readonly enc?: string
  /** undefined: the parameter is missing; apps may drop it. */
  readonly tt?: string
  readonly keySet?: string
  readonly mac: string
}

export type TapParameters = Readonly<Record<string, string | undefined>>

export type Match =
  | { readonly ok: true; readonly values: TapValues }
  /** `reason` can follow the parameter's name. */
  | { readonly ok: false; readonly parameter: string; readonly reason: string; readonly isMissing: boolean }

const forms: Readonly<Record<Placeholder, { pattern: string; reason: string }>> = {
  picc: { pattern: '[0-9A-Fa-f]{32}|[0-9A-Fa-f]{48}', reason: 'must be 32 hex digits (48 in LRP mode)' },
  uid: { pattern: '[0-9A-Fa-f]{14}', reason: 'must be 14 hex digits' },
  ctr: { pattern: '[0-9A-Fa-f]{6}', reason: 'must be 6 hex digits' },
  // A chip's file has 256 bytes. What is longer would only cost time: the MAC covers it.
  enc: { pattern: '(?:[0-9A-Fa-f]{32}){1,8}', reason: 'must be 32, 64, … hex digits, 256 at most' },
  tt: { pattern: '..', reason: 'must be two characters' },
  keySet: { pattern: '\\d{1,10}', reason: 'must be the number of a key set' },
  mac: { pattern: '[0-9A-Fa-f]{16}', reason: 'must be 16 hex digits' },
}

const missing = 'is missing: open the complete URL that the chip shows'
/** What an app may drop, or a tap may lack. */
const isOptional = (slot: string): boolean => slot === 'tt' || slot === 'keySet'

interface Rule {
  readonly name: string
  readonly pattern: RegExp
  readonly slots: readonly Placeholder[]
  readonly reason: string
  /** Its value is the slot's. */
  readonly isWhole: boolean
  readonly isOptional: boolean
}

/** Reads taps by the parameters of a template, in any order and beside others. */
export class Matcher {
  readonly names: readonly string[]
  readonly #rules: readonly Rule[]

  constructor(parameters: readonly TemplateParameter[]) {
    this.#rules = parameters.map(ruleOf)
    this.names = this.#rules.map(({ name }) => name)
  }

  match(query: TapParameters): Match {
    const values: { [slot in Placeholder]?: string } = {}
    // A missing parameter is named rather than a wrong one: the URL may be another template's.
    let wrong: Rule | undefined
    for (const rule of this.#rules) {
      const value = query[rule.name]
      if (value === undefined) {
        if (rule.isOptional) continue
        return { ok: false, parameter: rule.name, reason: missing, isMissing: true }
      }
      if (wrong) continue
      const [slot] = rule.slots
      if (rule.isWhole && slot !== undefined) {
        if (rule.pattern.test(value)) values[slot] = value
        else wrong = rule
        continue
      }
      const found = rule.pattern.exec(value)
      if (!found) wrong = rule
      else
        rule.slots.forEach((one, index) => {
          const text = found[index + 1]
          if (text !== undefined) values[one] = text
        })
    }
    const { mac } = values
    if (wrong || mac === undefined)
      return { ok: false, parameter: wrong?.name ?? '', reason: wrong?.reason ?? '', isMissing: false }
    return { ok: true, values: { ...values, mac } }
  }
}

function ruleOf({ name, value }: TemplateParameter): Rule {
  const slots = value.flatMap((part) => (typeof part === 'string' || part.slot === 'loop' ? [] : [part.slot]))
  const [first] = slots
  const isWhole = value.length === 1 && first !== undefined
  const pattern = value.map((part) =>
    typeof part === 'string' || part.slot === 'loop'
      ? escaped(decoded(String(part)))
      : `(${forms[part.slot].pattern})`,
  )
  return {
    name,
    slots,
    isWhole,
    pattern: new RegExp(`^${pattern.join('')}$`),
    reason: isWhole ? forms[first].reason : `must be ${shown(value)}`,
    isOptional: slots.every(isOptional),
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
const shown = (value: readonly Part[]): string =>
  value.map((part) => (typeof part === 'string' ? part : `{${part.slot}}`)).join('')

/** The parameters of a URL. @returns undefined for a repeated one */
export function queryOf(url: string): Record<string, string | undefined> {
  const query: Record<string, string | undefined> = Object.create(null)
  const text = url.split('#', 1)[0] ?? ''
  const at = text.indexOf('?')
  for (const [name, value] of new URLSearchParams(at < 0 ? '' : text.slice(at + 1)))
    query[name] = Object.hasOwn(query, name) ? undefined : value
  return query
}

/** What the MAC covers, byte for byte, with an empty text for nothing. @param keySet its number @param tamper the status of the loop; empty: the chip shows none */
export function macInput(
  { covered }: UrlTemplate,
  keySet: string,
  values: TapValues,
  tamper: string,
): string {
  return covered === null ? '' : filled(covered, keySet, values, tamper)
}

/** As a chip writes it: hex digits in upper case. */
export function filled(parts: readonly Part[], keySet: string, values: TapValues, tamper: string): string {
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') text += part
    else if (part.slot === 'keySet') text += keySet
    else if (part.slot === 'tt') text += tamper
    else if (part.slot === 'loop') text += tamper === '' ? '' : `${TAMPER_PARAMETER}=${tamper}&`
    else text += values[part.slot]?.toUpperCase() ?? ''
  }
  return text
}
