import * as z from 'zod'
import type { FileSettings } from '../ntag424/file-settings.ts'
import { FILE_SIZES, MASTER_KEY, NDEF_FILE } from '../ntag424/layout.ts'
import { templateFile, type UrlTemplate } from '../ntag424/url-template.ts'
import { parseUid } from '../uid.ts'
import { type KeySetSource, type KeySource, sameSource, sourceVersion } from './keys.ts'

/**
 * What a chip shall become, and every key that it may have until it is. Plain JSON without a key in it: write it down
 * BEFORE the chip is touched, and keep it until the chip was read back. With it a chip that was lifted at any moment
 * can be brought to its end, since each of its keys is one of these, and its version byte tells which.
 */
export interface Plan {
  readonly version: 1
  /** Decimal, as on the wire. */
  readonly uid: string
  /** Where the keys may be from that are on the chip now. */
  readonly from: readonly KeySource[]
  readonly target: KeySource
  /** null: the file is emptied, as in the factory. */
  readonly template: UrlTemplate | null
}

export interface PlanInput {
  /** Decimal. */
  readonly uid: string
  /** Usually just the factory; of a torn chip, every source of its unfinished plan, its target included. */
  readonly from: readonly KeySource[]
  readonly target: KeySetSource
  readonly template: Omit<UrlTemplate, 'd'>
}

/**
 * The plan that sets a chip up, or sets it up again with new keys.
 * @throws RangeError when the URL does not fit, a generation is out of range, or two sources share a version byte,
 * which would make it impossible to tell their keys apart: give the target another generation
 */
export function plan({ uid, from, target, template }: PlanInput): Plan {
  const made: Plan = {
    version: 1,
    uid,
    from: from.filter((source) => !sameSource(source, target)),
    // In this order: the journal is searched for it (store/nfc-plans.ts).
    target: { keySet: target.keySet, generation: target.generation },
    template: { ...template, d: String(target.keySet) },
  }
  return checked(made)
}

/** The plan that takes a chip back to the factory's state. @throws RangeError as plan does */
export function planReset({ uid, from }: Pick<PlanInput, 'uid' | 'from'>): Plan {
  return checked({
    version: 1,
    uid,
    from: from.filter((source) => source !== 'factory'),
    target: 'factory',
    template: null,
  })
}

/** All sources of a plan: what the next plan of the chip has to start from while this one is not finished. */
export function sourcesOf({ from, target }: Plan): readonly KeySource[] {
  return [...from, target]
}

/** Of these the ones that a chip can have keys of, by the versions that it shows, and the one that it is to get. */
export function sourcesOn(plan: Plan, versions: readonly number[]): readonly KeySource[] {
  return sourcesOf(plan).filter(
    (source) => sameSource(source, plan.target) || versions.includes(sourceVersion(source)),
  )
}

/** A plan as it was written down. @throws ZodError, RangeError */
export function parsePlan(value: unknown): Plan {
  return checked(json.parse(value))
}

/** What the NDEF file shall hold and how it shall be set. */
export interface TargetFile {
  /** The URL with zeros where the chip fills in; null when there is none. */
  readonly url: string | null
  /** From NLEN on. */
  readonly ndef: Buffer
  readonly settings: FileSettings
}

const FACTORY_FILE: TargetFile = {
  url: null,
  ndef: Buffer.alloc(FILE_SIZES[NDEF_FILE]),
  settings: { mode: 'plain', access: { read: 'free', write: 'free', readWrite: 'free', change: MASTER_KEY } },
}

export function targetFile({ template }: Plan): TargetFile {
  return template ? templateFile(template) : FACTORY_FILE
}

function checked(made: Plan): Plan {
  const parsed = parseUid(made.uid)
  if (!parsed.ok || parsed.uid !== made.uid) throw new RangeError('The UID of a plan is a decimal number')
  const versions = sourcesOf(made).map(sourceVersion)
  if (new Set(versions).size < versions.length)
    throw new RangeError(
      'Two of the key sources of a plan have the same key version, so their keys could not be told apart',
    )
  if ((made.target === 'factory') !== (made.template === null))
    throw new RangeError('A plan has a URL exactly when it has a key set')
  targetFile(made)
  return made
}

const source = z.union([
  z.literal('factory'),
  z.object({ keySet: z.int().min(0), generation: z.int().min(0).max(254) }),
])
const json = z.object({
  version: z.literal(1),
  uid: z.string(),
  from: z.array(source),
  target: source,
  template: z
    .object({
      baseUrl: z.string(),
      d: z.string(),
      names: z.object({ e: z.string(), c: z.string(), d: z.string() }),
      from: z.enum(['d', 'e']).nullable(),
    })
    .nullable(),
})
