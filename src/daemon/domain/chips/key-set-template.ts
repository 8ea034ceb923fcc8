import { haloParameters } from '../../../nfc/halo/tap.ts'
import {
  canShowTamper,
  defaultParameters,
  parseTemplate,
  type ShortForm,
  shortFormOf,
  slotsOf,
  TemplateError,
  templateOfShortForm,
  type UrlTemplate,
} from '../../../nfc/ntag424/template/parse.ts'
import { invalid } from '../errors/errors.ts'

/** How a new key set says what URL its chips show. */
export interface TemplateFields {
  /** See parseTemplate. */
  template?: string | null | undefined
  /** `enc:BYTE`, if a TagTamper's status lies in the encrypted data. */
  tamper?: string | null | undefined
  /** The short form of a template. */
  macInputFrom?: ShortForm['macInputFrom'] | undefined
  parameters?: { [name in keyof ShortForm['parameters']]?: string | undefined } | null | undefined
}

/** @throws DomainError invalid_input */
export function templateIn({
  template,
  tamper,
  parameters: names,
  macInputFrom = null,
}: TemplateFields): UrlTemplate {
  const parameters = { ...defaultParameters, ...definedIn(names) }
  if (new Set(Object.values(parameters)).size < 3)
    throw invalid('parameters', 'must be three different names')
  try {
    const short = templateOfShortForm({ parameters, macInputFrom })
    const parsed = parseTemplate(template ?? short, tamper)
    if (template != null && (names != null || macInputFrom !== null) && parsed.text !== short)
      throw invalid(
        'template',
        `says something else than parameters and macInputFrom (${short}): keep one of the two`,
      )
    assertNoHaloNames(parsed)
    return parsed
  } catch (error) {
    if (error instanceof TemplateError) throw invalid(error.field, error.message)
    throw error
  }
}

const haloNames = new Set<string>([...haloParameters, 'cmd', 'res'])

/** Only asked of new key sets: stored ones are read whatever names HaLo chips use by then. */
function assertNoHaloNames({ parameters }: UrlTemplate): void {
  const taken = parameters.find(({ name, value }) => slotsOf(value).length > 0 && haloNames.has(name))
  if (taken) throw invalid('template', `has the parameter ${taken.name}, a name that HaLo chips use`)
}

/** Other templates have names there that no tap has. */
export function shortFormColumns(template: UrlTemplate) {
  const { parameters, macInputFrom } = shortFormOf(template) ?? {
    parameters: { e: '', c: '', d: '' },
    macInputFrom: null,
  }
  return { macInputFrom, nameOfE: parameters.e, nameOfC: parameters.c, nameOfD: parameters.d }
}

const definedIn = (names: TemplateFields['parameters']): Partial<ShortForm['parameters']> =>
  Object.fromEntries(Object.entries(names ?? {}).filter(([, name]) => name !== undefined))

const keyNames = ['metaReadKey', 'fileReadKey', 'appMasterKey'] as const
const zeroKey = '0'.repeat(32)

/** Key sets under which the encrypted UID of a tap is tried at most. A plain one leads to its chip without a try. */
export const maxCandidates = 16

/** What is allowed but hardly meant. @param alike the number of key sets whose taps look the same */
export function warningsAbout(
  fields: TemplateFields & { [key in (typeof keyNames)[number]]?: string | null | undefined },
  alike: number,
): string[] {
  const zeros = keyNames.filter((key) => fields[key] === zeroKey)
  const template = templateIn(fields)
  const slots = slotsOf(template.query)
  return [
    ...(zeros.length === 0
      ? []
      : [
          `${zeros.join(' and ')} ${zeros.length === 1 ? 'is' : 'are'} all zeros, the factory key that everybody knows: anyone can make taps of such chips.`,
        ]),
    ...(slots.includes('tt') && !canShowTamper(template)
      ? ['{tt} stands outside of what the MAC covers, so anyone could change it: the status is not recorded.']
      : []),
    ...(alike > maxCandidates && slots.includes('picc') && !slots.includes('keySet')
      ? [
          `${alike} key sets have this template, and a tap is tried under the ${maxCandidates} that were used last: chips of the others are unknown. Have the number in the URL of new chips: {keySet}.`,
        ]
      : []),
  ]
}
