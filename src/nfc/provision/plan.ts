import * as z from 'zod'
import { parseNdef } from '../ndef.ts'
import { keyVersion, type PlannedKey } from '../ntag424/diversify.ts'
import type { FileSettings } from '../ntag424/file-settings.ts'
import { FILE_SIZES, KEY_NUMBERS, MASTER_KEY, NDEF_FILE } from '../ntag424/layout.ts'
import { templateFile } from '../ntag424/template/file.ts'
import { parseTemplate, templateOfShortForm } from '../ntag424/template/parse.ts'
import { parseUid } from '../uid.ts'

/**
 * The origin of a chip's five keys: the factory, a generation of a key set, or the chip's owner. It contains no keys, so
 * that a plan can be stored.
 */
export type KeySource = 'factory' | KeySetSource | SuppliedSource

export interface KeySetSource {
  /** The value of `d` in the chip's URL. */
  readonly keySet: number
  /** 0 to 254. */
  readonly generation: number
}

/** Keys of another system, which the chip's owner supplied and the chip has proven. */
export interface SuppliedSource {
  /** The versions of keys 0 to 4. Other systems often leave them at 0. */
  readonly supplied: readonly number[]
}

/** Returns a source's keys for a chip, as planKeys does. @param uid 7 bytes @throws when there are none */
export type KeysOf = (source: KeySetSource | SuppliedSource, uid: Buffer) => readonly PlannedKey[]

/** Of keys that all come from key sets. */
export const ofKeySets =
  (keysOf: (source: KeySetSource, uid: Buffer) => readonly PlannedKey[]): KeysOf =>
  (source, uid) => {
    if (isKeySetSource(source)) return keysOf(source, uid)
    throw new RangeError('The keys that the owner of the chip supplied are not known here')
  }

/** The version byte of a key from this source, which identifies keys without trying one. */
export function versionIn(source: KeySource, keyNo: number): number {
  if (source === 'factory') return 0
  return 'supplied' in source ? (source.supplied[keyNo] ?? 0) : keyVersion(source.generation)
}

export function sameSource(a: KeySource, b: KeySource): boolean {
  if (a === 'factory' || b === 'factory') return a === b
  if ('supplied' in a || 'supplied' in b) return 'supplied' in a && 'supplied' in b
  return a.keySet === b.keySet && a.generation === b.generation
}

export const isKeySetSource = (source: KeySource): source is KeySetSource =>
  source !== 'factory' && 'keySet' in source

export const FACTORY_KEY = Buffer.alloc(16)

/** @throws RangeError when the source lacks the key; the errors of keysOf */
export function keyFrom(source: KeySource, keyNo: number, uid: Buffer, keysOf: KeysOf): Buffer {
  if (source === 'factory') return FACTORY_KEY
  const planned = keysOf(source, uid).find((one) => one.keyNo === keyNo)
  if (planned?.version !== versionIn(source, keyNo) || planned.key.length !== 16)
    throw new RangeError(`There is no key ${keyNo} from ${JSON.stringify(source)}`)
  return planned.key
}

/**
 * The target state of a chip, and every key source that it may have until then. Plain JSON without keys: store it
 * BEFORE the chip is touched, and keep it until the chip was read back. With it, a chip that was lifted at any moment
 * can be completed, since each of its keys comes from one of these sources, and its version byte shows which.
 */
export interface Plan {
  readonly version: 1
  /** Decimal, as on the wire. */
  readonly uid: string
  /** Possible sources of the keys that are on the chip now. */
  readonly from: readonly KeySource[]
  readonly target: 'factory' | KeySetSource
  /** null: the file is emptied, its factory state. */
  readonly template: PlannedUrl | null
  /** The chip shows a random UID, so it can only be recognized with one of its keys. */
  readonly randomId?: true | undefined
}

/** The URL that the chip is to show. */
export interface PlannedUrl {
  /** See parseTemplate. */
  readonly text: string
  /** `enc:BYTE`, if a TagTamper's status lies in the encrypted data. */
  readonly tamperAt?: string | undefined
  readonly baseUrl: string
  /** The chip is a TagTamper, and shows the status of its loop. */
  readonly tamper?: true | undefined
  /** The text behind {enc}. */
  readonly fileData?: string | undefined
  /** The records behind that of the URL: an NDEF message in hex. */
  readonly records?: string | undefined
  /** The chip is in LRP mode, or is switched to it. */
  readonly lrp?: true | undefined
}

interface PlanInput {
  /** Decimal. */
  readonly uid: string
  /** Usually just the factory; for an interrupted chip every source of its unfinished plan, including the target. */
  readonly from: readonly KeySource[]
  readonly target: KeySetSource
  readonly template: PlannedUrl
  readonly randomId?: true | undefined
}

/**
 * Plans to set up a chip, or to set it up again with new keys.
 * @throws RangeError when the URL does not fit, a generation is out of range, or two sources share a version byte, so
 * that their keys could not be told apart: give the target another generation
 */
export function plan({ uid, from, target, template, randomId }: PlanInput): Plan {
  const made: Plan = {
    version: 1,
    uid,
    from: from.filter((source) => !sameSource(source, target)),
    // The journal is searched for these properties in this order (store/nfc-plans.ts).
    target: { keySet: target.keySet, generation: target.generation },
    template,
    ...(randomId ? { randomId } : {}),
  }
  return checked(made)
}

/** Plans to restore a chip's factory state. @throws RangeError as plan does */
export function planReset({ uid, from, randomId }: Pick<PlanInput, 'uid' | 'from' | 'randomId'>): Plan {
  return checked({
    version: 1,
    uid,
    from: from.filter((source) => source !== 'factory'),
    target: 'factory',
    template: null,
    ...(randomId ? { randomId } : {}),
  })
}

/** Until this plan is finished, the chip's next plan has to include all of these sources. */
export function sourcesOf({ from, target }: Plan): readonly KeySource[] {
  return [...from, target]
}

/** The plan's sources that match the chip's key versions, and the target. */
export function sourcesOn(plan: Plan, versions: readonly number[]): readonly KeySource[] {
  return sourcesOf(plan).filter(
    (source) =>
      sameSource(source, plan.target) ||
      versions.some((version, keyNo) => version === versionIn(source, keyNo)),
  )
}

/** The sources that the key in a slot may have; more than one only for supplied keys with the factory's version. */
export function sourcesAt(plan: Plan, keyNo: number, versions: readonly number[]): readonly KeySource[] {
  return sourcesOf(plan).filter((source) => versionIn(source, keyNo) === versions[keyNo])
}

/** Parses a stored plan. @throws ZodError, RangeError */
export function parsePlan(value: unknown): Plan {
  return checked(json.parse(value))
}

export interface TargetFile {
  /** The URL with zeros in place of e, t, and c, if any. */
  readonly url: string | null
  /** The file's content, starting with NLEN. */
  readonly ndef: Buffer
  readonly settings: FileSettings
  /** What a tap shows encrypted, with zeros in place of a TagTamper's status. */
  readonly fileData?: Buffer | undefined
}

/** Of the NDEF file. */
export const FACTORY_SETTINGS: FileSettings = {
  mode: 'plain',
  access: { read: 'free', write: 'free', readWrite: 'free', change: MASTER_KEY },
}

const FACTORY_FILE: TargetFile = {
  url: null,
  ndef: Buffer.alloc(FILE_SIZES[NDEF_FILE]),
  settings: FACTORY_SETTINGS,
}

export function targetFile({ template, target }: Plan): TargetFile {
  if (!template || target === 'factory') return FACTORY_FILE
  const { text, tamperAt, records = '', ...rest } = template
  return templateFile({
    ...rest,
    template: parseTemplate(text, tamperAt),
    keySet: target.keySet,
    records: parseNdef(Buffer.from(records, 'hex')),
  })
}

function checked(made: Plan): Plan {
  const parsed = parseUid(made.uid)
  if (!parsed.ok || parsed.uid !== made.uid) throw new RangeError('The UID of a plan is a decimal number')
  if (KEY_NUMBERS.some((keyNo) => areAlike(sourcesOf(made), keyNo)))
    throw new RangeError(
      'Two of the key sources of a plan have the same key version, so their keys could not be told apart',
    )
  if ((made.target === 'factory') !== (made.template === null))
    throw new RangeError('A plan has a URL exactly when it has a key set')
  targetFile(made)
  return made
}

/** Supplied keys are told from the factory's by the chip itself: see proveKeys. */
function areAlike(sources: readonly KeySource[], keyNo: number): boolean {
  const hasSupplied = sources.some((source) => source !== 'factory' && 'supplied' in source)
  const compared = hasSupplied ? sources.filter((source) => source !== 'factory') : sources
  return new Set(compared.map((source) => versionIn(source, keyNo))).size < compared.length
}

const keySetSource = z.object({ keySet: z.int().min(0), generation: z.int().min(0).max(254) })
const source = z.union([
  z.literal('factory'),
  keySetSource,
  z.object({ supplied: z.array(z.int().min(0).max(255)).length(KEY_NUMBERS.length) }),
])
/** Plans that were stored before key sets had templates. */
const beforeTemplates = z
  .object({
    baseUrl: z.string(),
    names: z.object({ e: z.string(), c: z.string(), d: z.string() }),
    from: z.enum(['d', 'e']).nullable(),
    tamper: z.literal(true).optional(),
  })
  .transform(({ baseUrl, names: parameters, from: macInputFrom, tamper }) => ({
    text: templateOfShortForm({ parameters, macInputFrom }),
    baseUrl,
    tamper,
  }))
const json = z.object({
  version: z.literal(1),
  uid: z.string(),
  from: z.array(source),
  target: z.union([z.literal('factory'), keySetSource]),
  randomId: z.literal(true).optional(),
  template: z
    .union([
      z.object({
        text: z.string(),
        tamperAt: z.string().optional(),
        baseUrl: z.string(),
        tamper: z.literal(true).optional(),
        fileData: z.string().optional(),
        records: z.string().optional(),
        lrp: z.literal(true).optional(),
      }),
      beforeTemplates,
    ])
    .nullable(),
})
