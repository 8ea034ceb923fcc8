import { sameFileSettings } from '../../../nfc/ntag424/file-settings.ts'
import { canShowTamper, slotsOf } from '../../../nfc/ntag424/template/parse.ts'
import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, type Inspection } from '../../../nfc/provision/inspect.ts'
import {
  isKeySetSource,
  type KeySetSource,
  type KeySource,
  type Plan,
  type PlannedUrl,
  plan,
  type SuppliedSource,
  sourcesOf,
  targetFile,
} from '../../../nfc/provision/plan.ts'
import type { KeySet } from '../chips/key-ring.ts'
import { conflict, type DomainError } from '../errors/errors.ts'
import type { JournalEntry } from './journal.ts'
import { isAccountedFor, type KnownChip, sourceShown } from './known-chip.ts'
import type { UrlContent } from './url-content.ts'

export type Choice =
  /** Complete its unfinished plan. */
  | { readonly kind: 'recover'; readonly entry: JournalEntry; readonly target: KeySetSource }
  /** A new plan, to be stored first. */
  | {
      readonly kind: 'write'
      readonly plan: Plan
      readonly target: KeySetSource
      /** The unfinished plan that it starts from. */
      readonly replaces: number | undefined
    }
  /** Write nothing: the chip must already match the plan, or is refused. */
  | { readonly kind: 'verify'; readonly plan: Plan; readonly target: KeySetSource }
  /** Set up again from unknown keys, which the chip's tap must prove first. */
  | { readonly kind: 'prove' }

export interface PlanRequest {
  readonly set: KeySet
  readonly baseUrl: string
  readonly rekey: boolean
  /** The caller may vouch that a blank chip is the one registered with keys. */
  readonly mayVouch: boolean
  /** The keys from its owner that the chip has proven. */
  readonly proven: { readonly source: SuppliedSource; readonly proveChip: boolean } | undefined
  readonly content: UrlContent
}

/** Without the daemon's address where the template has one of its own. */
const templateOf = (
  { set, baseUrl, content }: Pick<PlanRequest, 'set' | 'baseUrl' | 'content'>,
  showsTamper: boolean,
  isLrp = set.mode === 'lrp',
): PlannedUrl => {
  const { template } = set
  const { fileData, ...records } = content
  // Kept from a key set with encrypted data, it has no place in one without.
  const data = fileData !== undefined && slotsOf(template.query).includes('enc') ? { fileData } : {}
  const address = template.head ? '' : baseUrl
  const url = {
    text: template.text,
    tamperAt: template.tamperAt,
    baseUrl: address,
    ...(isLrp ? { lrp: true as const } : {}),
    ...data,
    ...records,
  }
  return showsTamper && canShowTamper(template) ? { ...url, tamper: true } : url
}

/** @throws DomainError conflict, ForeignKeys; RangeError if the URL is too long or generations have run out */
export function choosePlan(inspection: Inspection, known: KnownChip, request: PlanRequest): Choice {
  const { versions } = inspection
  const { set, rekey, proven } = request
  const { open } = known
  if (proven) {
    if (!isAccountedFor(inspection, known, proven) && !request.mayVouch) throw takesOver(known, true)
    return { kind: 'write', ...next(inspection, known, request, [proven.source]), replaces: open?.id }
  }
  const isVouched = !isAccountedFor(inspection, known)
  if (isVouched && !(rekey && request.mayVouch)) throw takesOver(known)
  if (isVouched) {
    const begun = open ? sourcesOf(open.plan).filter((source) => source !== 'factory') : []
    const held: KeySource[] = ['factory', ...begun]
    return { kind: 'write', ...next(inspection, known, request, held), replaces: open?.id }
  }
  if (open) {
    const { target } = open.plan
    if (target !== 'factory' && isAsRequested(open.plan, inspection, request))
      return { kind: 'recover', entry: open, target }
    const held = sourcesOf(open.plan)
    const other = held.filter(isKeySetSource).find(({ keySet }) => keySet !== set.id)
    if (other && !rekey) throw ofAnotherKeySet(other.keySet, set.id)
    return { kind: 'write', ...next(inspection, known, request, held), replaces: open.id }
  }
  if (hasFactoryKeys(inspection))
    return { kind: 'write', ...next(inspection, known, request, ['factory']), replaces: undefined }
  // Somebody else's set-up was interrupted.
  if (versions.some((version) => version !== versions[0])) throw new ForeignKeys(versions)
  const source = sourceShown(known, versions)
  if (rekey) {
    if (source === undefined) return { kind: 'prove' }
    return { kind: 'write', ...next(inspection, known, request, [source]), replaces: undefined }
  }
  if (source !== undefined && source.keySet !== set.id) throw ofAnotherKeySet(source.keySet, set.id)
  assertNotEarlier(inspection, known)
  return { kind: 'verify', ...verificationPlan(inspection, request) }
}

/** A plan to compare a chip with by its tap. It has no sources, so it never writes. */
export function verificationPlan(
  { uid, versions, ndef }: Inspection,
  { set, ...url }: Pick<PlanRequest, 'set' | 'baseUrl' | 'content'>,
): { plan: Plan; target: KeySetSource } {
  const target = { keySet: set.id, generation: (versions[0] ?? 0) - 1 }
  // A TagTamper may have been set up by a version that did not know its loop.
  const showsTamper = ndef.sdm?.tamperOffset !== undefined
  // Its settings tell the mode that it was set up in.
  const inMode = (isLrp: boolean): Plan =>
    plan({ uid, from: [], target, template: templateOf({ set, ...url }, showsTamper, isLrp) })
  const lrp = inMode(true)
  return { plan: sameFileSettings(targetFile(lrp).settings, ndef) ? lrp : inMode(false), target }
}

/** The plan of the next setup, from the chip's current keys. @throws DomainError conflict, RangeError */
export function next(
  { uid, versions, isTagTamper, randomId, isLrp }: Inspection,
  { row, nextGeneration, usedKeySets }: KnownChip,
  { set, ...url }: Omit<PlanRequest, 'proven'>,
  from: readonly KeySource[],
): { plan: Plan; target: KeySetSource } {
  if (set.diversification === 'none' && usedKeySets.has(set.id)) {
    throw conflict(
      `The chip was set up with the key set ${set.id} before. All of that set's chips share one key, so old taps would become valid again. Use a key set with the derivation an10922.`,
    )
  }
  // A chip imported before its setup, whose key does not depend on a generation.
  const isFirst = set.diversification === 'none' && row?.keySetId === set.id && nextGeneration === 1
  const least = Math.max(nextGeneration, ...versions)
  const generation = freeGeneration(isFirst ? 0 : least > 254 ? nextGeneration : least, versions)
  const target = { keySet: set.id, generation }
  const template = templateOf({ set, ...url }, isTagTamper, isLrp || set.mode === 'lrp')
  return { plan: plan({ uid, from, target, template, randomId }), target }
}

/** Keys of other systems may have any versions, also the highest. */
const freeGeneration = (least: number, versions: readonly number[]): number =>
  versions.includes(least + 1) ? freeGeneration(least + 1, versions) : least

/** A chip that shows superseded keys is a copy, or the registry was restored from a backup. @throws DomainError */
function assertNotEarlier({ versions: [version = 0] }: Inspection, { row }: KnownChip): void {
  if (!row || row.keySetId === null || version - 1 >= row.generation) return
  throw conflict(
    `The chip has keys of generation ${version - 1}, but is registered with those of generation ${row.generation}: it may be a copy and was not changed. If it is the real one, give it new keys: --rekey`,
  )
}

export const takesOver = ({ row }: KnownChip, isSupplied = false): DomainError =>
  conflict(
    `The chip ${isSupplied ? 'has keys that do not prove which chip it is' : 'is blank'}, but a chip with its UID is registered and in use under the key set ${row?.keySetId}: this may be a copy. If it was reset elsewhere, use tapchip nfc reset or --rekey with a credential that has the scopes provision and keys.`,
  )

const ofAnotherKeySet = (keySet: number, request: number): DomainError =>
  conflict(
    `The chip is set up with the key set ${keySet}, not ${request}, and was not changed. To give it new keys: --rekey`,
  )

function isAsRequested(
  { template, target }: Plan,
  { isTagTamper }: Inspection,
  request: PlanRequest,
): boolean {
  const asked = templateOf(request, isTagTamper)
  return (
    template !== null &&
    target !== 'factory' &&
    target.keySet === request.set.id &&
    (['text', 'tamperAt', 'baseUrl', 'tamper', 'fileData', 'records'] as const).every(
      (name) => template[name] === asked[name],
    )
  )
}
